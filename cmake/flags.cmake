# One interface target carries every compiler and linker flag; all our targets link it.
add_library(wrist_flags INTERFACE)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

target_include_directories(wrist_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(wrist_flags INTERFACE _GNU_SOURCE)
target_compile_options(wrist_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
  -Wconversion -Wno-sign-conversion -Wpointer-arith -Wcast-qual -Wundef -Wwrite-strings
  -Wold-style-definition -Wimplicit-fallthrough -fno-strict-aliasing -fno-common
  # snprintf is used for its bound: what does not fit is cut on purpose.
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
  # A literal section per function lets the static worker drop what it does not use.
  -ffunction-sections -fdata-sections)
target_link_options(wrist_flags INTERFACE -Wl,--gc-sections)

# Assertions stay in releases: they are cheap here, and a bug that goes on is worse.
set(CMAKE_C_FLAGS_RELEASE "")

if(WRIST_SANITIZE)
  target_compile_options(wrist_flags INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(wrist_flags INTERFACE -fsanitize=address,undefined)
endif()
if(WRIST_FUZZ)
  target_compile_options(wrist_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(wrist_flags INTERFACE -O2 -g -fstack-protector-strong
    -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_link_options(wrist_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
