"""The words of Slurm's files for yes and no, in lower case; Slurm takes them in any case.

Source: src/common/parse_value.c, s_p_handle_boolean.
"""

YES, NO = frozenset(("yes", "true", "1", "up")), frozenset(("no", "false", "0", "down"))
