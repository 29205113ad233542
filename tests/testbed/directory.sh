#!/bin/sh
# Installs a directory service on this node, with new certificates. $1: its folder; $2: the node's full name.
# Standard input: the entries as LDIF.

set -eu
folder=$1 name=$2
systemctl disable --now -q slapd 2>/dev/null || :
rm -rf "$folder"; mkdir -p "$folder/db"; cd "$folder"; umask 022
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 30 -subj "/CN=ca of tests" 2>/dev/null
openssl req -newkey rsa:2048 -nodes -keyout key.pem -out req.pem -subj "/CN=$name" 2>/dev/null
echo "subjectAltName=DNS:$name" >names
openssl x509 -req -in req.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out cert.pem -extfile names 2>/dev/null
cat >slapd.conf <<END
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile $folder/ca.pem
TLSCertificateFile $folder/cert.pem
TLSCertificateKeyFile $folder/key.pem
database mdb
suffix dc=example,dc=org
rootdn cn=admin,dc=example,dc=org
rootpw of-tests
directory $folder/db
access to attrs=userPassword by anonymous auth by * none
access to * by dn="cn=reader,dc=example,dc=org" read by * none
END
slapadd -q -f slapd.conf
cat >/etc/systemd/system/test-ldap.service <<END
[Service]
ExecStart=/usr/sbin/slapd -d 0 -f $folder/slapd.conf -h "ldaps:/// ldapi:///"
END
systemctl daemon-reload; systemctl start test-ldap
