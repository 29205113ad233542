#!/bin/sh
# Prints MariaDB's rows about a database and its user, with tabs: database NAME, user PLUGIN, grant CREATE.
# $1 database, $2 its user. Prints nothing if MariaDB does not run or is not installed.

command -v mariadb >/dev/null || { echo gpupool-end; exit 0; }
mariadb -N -B -e "
select 'database', schema_name from information_schema.schemata where schema_name = '$1';
select 'user', plugin from mysql.user where user = '$2' and host = 'localhost';
select 'grant', privilege_type from information_schema.schema_privileges
  where table_schema = '$1' and grantee = '''$2''@''localhost''' and privilege_type = 'CREATE';" 2>/dev/null
