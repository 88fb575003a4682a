# Third-party libraries, each found once. Which folder may use which: tests/lint/layers.txt.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBEVENT REQUIRED IMPORTED_TARGET libevent_core)
pkg_check_modules(LIBEVENT_EXTRA REQUIRED IMPORTED_TARGET libevent_extra)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET libssl libcrypto)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)

# llhttp: a library where the distribution has one (Debian 13), else its sources (node-llhttp).
pkg_check_modules(LLHTTP IMPORTED_TARGET libllhttp)
if(NOT TARGET PkgConfig::LLHTTP)
  find_path(LLHTTP_SOURCES llhttp.c PATHS /usr/share/llhttp REQUIRED)
  find_path(LLHTTP_HEADERS llhttp.h PATHS /usr/share/include/llhttp REQUIRED)
  add_library(llhttp STATIC
    ${LLHTTP_SOURCES}/llhttp.c ${LLHTTP_SOURCES}/api.c ${LLHTTP_SOURCES}/http.c)
  target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_HEADERS})
  target_compile_options(llhttp PRIVATE -O2)
  # As the library of later releases is: no double spaces, no bytes above ASCII in a target.
  target_compile_definitions(llhttp PRIVATE LLHTTP_STRICT_MODE=1)
  add_library(PkgConfig::LLHTTP ALIAS llhttp)
endif()

# A program with the property WRIST_STATIC links the archives of these libraries instead.
foreach(library LIBEVENT LIBEVENT_EXTRA OPENSSL NGHTTP2 PCRE2 SECCOMP)
  get_target_property(files PkgConfig::${library} INTERFACE_LINK_LIBRARIES)
  set(either "")
  foreach(file ${files})
    string(REGEX REPLACE "\\.so$" ".a" archive ${file})
    if(EXISTS ${archive})
      list(APPEND either "$<IF:$<BOOL:$<TARGET_PROPERTY:WRIST_STATIC>>,${archive},${file}>")
    else()
      list(APPEND either ${file})
    endif()
  endforeach()
  set_target_properties(PkgConfig::${library} PROPERTIES INTERFACE_LINK_LIBRARIES "${either}")
endforeach()
