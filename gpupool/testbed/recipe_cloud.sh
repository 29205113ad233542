#!/bin/sh
# Installs the testbed's cloud in a controller's image, which switches the containers of the testbed. $driver: a driver of
# libcloud. $switch: the program that root runs for the driver, on a socket that only slurm can open.
# shellcheck disable=SC2154 # the caller sets driver and switch

packages=/usr/lib/python3/dist-packages
printf '%s' "$driver" > $packages/testbed_cloud.py
printf '{}\n' > $packages/testbed_cloud.json
chgrp slurm $packages/testbed_cloud.json && chmod 640 $packages/testbed_cloud.json
printf '%s' "$switch" > /usr/local/sbin/testbed-switch
chmod 755 /usr/local/sbin/testbed-switch
cat > /etc/systemd/system/testbed-switch.socket <<'END'
[Socket]
ListenStream=/run/testbed-switch.sock
SocketUser=slurm
SocketMode=0600
Accept=yes
[Install]
WantedBy=sockets.target
END
cat > /etc/systemd/system/testbed-switch@.service <<'END'
[Service]
ExecStart=/usr/bin/python3 -I -B /usr/local/sbin/testbed-switch
StandardInput=socket
StandardOutput=socket
END
systemctl enable --quiet testbed-switch.socket
