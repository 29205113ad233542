#!/bin/sh
# Prints two lines: the state of conda's directory (installed, begun, foreign, absent) and of the link to it (link,
# foreign, absent). $1 directory, $2 link.

if [ -f "$1/.gpupool-installed" ]; then echo installed
elif [ -d "$1.gpupool-new" ]; then echo begun
elif [ -e "$1" ] || [ -L "$1" ]; then echo foreign
else echo absent; fi
if [ -L "$2" ]; then echo link
elif [ -e "$2" ]; then echo foreign
else echo absent; fi
