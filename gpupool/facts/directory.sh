#!/bin/sh
# Prints a node's settings for a directory: "nss DATABASE" for each line of nsswitch.conf (passwd, group) that uses sssd,
# "pam" if PAM uses it, and "password OWNER MODE" if the file $1 has a password; the password is not printed.

for line in passwd group; do
  if grep -qE "^$line:[^#]*[[:space:]]sss([[:space:]]|#|$)" /etc/nsswitch.conf; then echo "nss $line"; fi
done
if grep -qE '^[^#]*pam_sss\.so' /etc/pam.d/common-auth; then echo pam; fi
if grep -qsE '^[[:space:]]*ldap_default_authtok[[:space:]]*=' "$1"; then
  echo "password $(stat -c '%U %a' -- "$1")"
fi
