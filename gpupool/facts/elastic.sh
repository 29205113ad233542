#!/bin/sh
# Prints what scontrol shows of all nodes; nothing where no slurmctld answers.

timeout 30 scontrol show nodes 2>/dev/null || :
