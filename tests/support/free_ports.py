# SPDX-License-Identifier: Apache-2.0
"""Ports of this machine that nobody listens at."""
import socket


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
