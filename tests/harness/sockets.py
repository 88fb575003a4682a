# SPDX-License-Identifier: Apache-2.0
"""What a service manager does with sockets: they stay open from one process to the next.

sockets.py hold CONTROL PORT...        listens on the ports of 127.0.0.1, hands them to who asks
sockets.py take CONTROL COUNT PROGRAM ARGUMENT...   becomes PROGRAM with them as fd 3, 4, ...
"""
import array
import os
import socket
import sys


def hold(control, ports):
    held = []
    for port in ports:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", int(port)))
        listening.listen(1024)
        held.append(listening)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(control)
    server.listen(8)
    print("holding", flush=True)
    while True:
        asking, _ = server.accept()
        numbers = array.array("i", [one.fileno() for one in held])
        asking.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
        asking.close()


def take(control, count, command):
    asking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    asking.connect(control)
    numbers = array.array("i")
    _, ancillary, _, _ = asking.recvmsg(1, socket.CMSG_LEN(count * numbers.itemsize))
    for _, _, data in ancillary:
        numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    # Out of the way first, so that no descriptor is overwritten before it was moved.
    moved = [os.dup2(number, 100 + at) for at, number in enumerate(numbers)]
    asking.close()
    for at, number in enumerate(moved):
        os.dup2(number, 3 + at, inheritable=True)
        os.close(number)
    os.execv(command[0], command)


if sys.argv[1] == "hold":
    hold(sys.argv[2], sys.argv[3:])
else:
    take(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
