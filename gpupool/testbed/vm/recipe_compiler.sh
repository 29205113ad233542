#!/bin/sh
# A wrapper with the name of a compiler, before it in PATH, which uses precompiled headers of the kernel.
#
# Three quarters of the build time of ZFS's modules are spent on 600 headers that are read 700 times: each file includes
# the headers of the kernel's Makefile, and nearly all files then include linux/module.h. The wrapper compiles these
# headers once for each set of options, at its second use. The kernel passes a file's name with -D; the headers must not
# depend on it, so it is in a separate header after them. The result is the same; files outside of modules are compiled
# without the wrapper. The precompiled headers are in $GPUPOOL_PRECOMPILED.

folder=${GPUPOOL_PRECOMPILED:-/tmp/precompiled}
compiler=/usr/bin/${0##*/}
case " $* " in
  *' -DMODULE '*' -c -o '*.o' '*.c' ') ;;
  *) exec "$compiler" "$@" ;;
esac

# the remaining options are the ones on which the headers depend
newline='
'
headers='' names='' dependencies='' object='' source='' before='' left=$#
while [ "$left" -gt 0 ]; do
  word=$1 left=$((left - 1))
  shift
  case $before:$word in
    -include:*/compiler-version.h | -include:*/kconfig.h | -include:*/compiler_types.h)
      headers="$headers#include \"$word\"$newline"
      ;;
    -include:*) set -- "$@" -include "$word" ;;
    -o:*) object=$word ;;
    :-include | :-o) ;;
    :-DKBUILD_*=* | :-D__KBUILD_*=*)
      name=${word#-D}
      names="$names#define ${name%%=*} ${name#*=}$newline"
      ;;
    :-Wp,-MMD,*) dependencies=$word ;;
    :*.c) source=$word ;;
    *) set -- "$@" "$word" ;;
  esac
  case $word in
    -include | -o) before=$word ;;
    *) before='' ;;
  esac
done

of=$folder/$(printf '%s\n' "$PWD" "$headers" "$@" | md5sum | cut -c 1-16)
mkdir -p "$of"
if [ ! -e "$of/all.h" ]; then
  printf '%s#include <linux/module.h>\n' "$headers" > "$of/$$"
  mv "$of/$$" "$of/all.h"
elif mkdir "$of/begun" 2>/dev/null; then
  "$compiler" "$@" -x c-header -o "$of/begun/all.h.gch" "$of/all.h" && mv "$of/begun/all.h.gch" "$of"
fi
printf '%s' "$names" > "$object.names.h"
set -- -include "$object.names.h" "$@" ${dependencies:+"$dependencies"} -o "$object" "$source"
if grep -q '#include <linux/module.h>' "$source"; then
  exec "$compiler" -include "$of/all.h" "$@"
fi
# a file that does not include linux/module.h may define names that conflict with it
"$compiler" -include "$of/all.h" "$@" 2>/dev/null && exit
printf '%s' "$headers" > "$object.headers.h"
exec "$compiler" -include "$object.headers.h" "$@"
