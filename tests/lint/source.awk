# SPDX-License-Identifier: Apache-2.0
# Per source: SPDX line, banned functions, typedef and size rules.
FNR == 1 {
    if (last != "" && lines > 800)
        print last ":" lines ": a file of over 800 lines; one concept a file"
    last = FILENAME
    body = 0
    if ($0 !~ /SPDX-License-Identifier/)
        print FILENAME ":1: the first line is not the SPDX line"
}
{ lines = FNR }
/^\/\// || /^ *\/\// || /^ \*/ { next }
/(^|[^a-zA-Z0-9_>.])(strcpy|strcat|sprintf|strncpy|strtok|atoi|system|popen|alloca|rand|localtime|signal|sleep)\(/ {
    print FILENAME ":" FNR ": banned function: " $0
}
/^typedef struct/ { print FILENAME ":" FNR ": structs are not typedefed" }
/TODO|FIXME|XXX/ && !/XXXX/ { print FILENAME ":" FNR ": work left in a comment" }
/^{/ { body = FNR }
/^}/ {
    if (body > 0 && FNR - body > 120)
        print FILENAME ":" body ": a function of " FNR - body " lines; two functions"
    body = 0
}
END {
    if (lines > 800)
        print last ":" lines ": a file of over 800 lines; one concept a file"
}
