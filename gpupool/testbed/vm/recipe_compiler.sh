#!/bin/sh
# Stands under the name of a compiler before it in PATH, and reads headers of the kernel that were compiled before.
#
# Three quarters of the time in which ZFS's modules are built go into 600 headers that are read 700 times: each file
# begins with those that the kernel's Makefile names, and nearly each goes on with linux/module.h. They are compiled once
# for each set of options, at its second use. A file's name, which the kernel gives by -D, must be unknown to them: it
# comes behind them, in a header of its own. What is compiled is the same, and what is no module is left alone.
# They lie in $GPUPOOL_PRECOMPILED.

folder=${GPUPOOL_PRECOMPILED:-/tmp/precompiled}
compiler=/usr/bin/${0##*/}
case " $* " in
  *' -DMODULE '*' -c -o '*.o' '*.c' ') ;;
  *) exec "$compiler" "$@" ;;
esac

# the options that are left are those on which the headers depend
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
# a file that does not read linux/module.h may have names of its own that are in it
"$compiler" -include "$of/all.h" "$@" 2>/dev/null && exit
printf '%s' "$headers" > "$object.headers.h"
exec "$compiler" -include "$object.headers.h" "$@"
