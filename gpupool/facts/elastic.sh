#!/bin/sh
# Prints scontrol's output about all nodes; nothing if no slurmctld answers.

timeout 30 scontrol show nodes 2>/dev/null || :
