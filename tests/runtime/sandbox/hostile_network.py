"""Tries to reach somebody over a socket. It is run inside."""

from __future__ import annotations

import ctypes
import os
import socket
import threading

from tests.runtime.sandbox.hostile import AIMS, LIBC, Held, attempt, connect, shell


@attempt
def tcp_on_loopback() -> None:
    connect(socket.AF_INET, ("127.0.0.1", AIMS["tcp"]))


@attempt
def tcp_on_own_address() -> None:
    connect(socket.AF_INET, (AIMS["own"], AIMS["tcp"]))


@attempt
def tcp_by_zero_address() -> None:
    connect(socket.AF_INET, ("0.0.0.0", AIMS["tcp"]))


@attempt
def tcp_over_ipv6() -> None:
    connect(socket.AF_INET6, ("::1", AIMS["tcp"]))


@attempt
def tcp_by_mapped_address() -> None:
    connect(socket.AF_INET6, ("::ffff:127.0.0.1", AIMS["tcp"]))


@attempt
def tcp_by_fast_open() -> None:
    with socket.socket(socket.AF_INET) as made:
        made.settimeout(2)
        made.sendto(b"hostile", 0x20000000, ("127.0.0.1", AIMS["tcp"]))


@attempt
def tcp_by_bash() -> str:
    return shell(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{AIMS['tcp']}"])


@attempt
def tcp_outside_world() -> None:
    connect(socket.AF_INET, ("192.0.2.1", 80))


@attempt
def udp_on_loopback() -> None:
    connect(socket.AF_INET, ("127.0.0.1", AIMS["udp"]), socket.SOCK_DGRAM)


@attempt
def udp_over_ipv6() -> None:
    connect(socket.AF_INET6, ("::1", AIMS["udp"]), socket.SOCK_DGRAM)


@attempt
def names_of_hosts() -> None:
    socket.getaddrinfo("example.com", 80)


@attempt
def abstract_socket() -> None:
    connect(socket.AF_UNIX, "\0" + AIMS["abstract"])


@attempt
def unix_socket() -> None:
    connect(socket.AF_UNIX, AIMS["unix"])


@attempt
def unix_socket_like_postgresql() -> None:
    connect(socket.AF_UNIX, AIMS["database"])


@attempt
def unix_socket_by_link() -> None:
    os.symlink(AIMS["unix"], "link-to-socket")
    connect(socket.AF_UNIX, "link-to-socket")


@attempt
def unix_datagram() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.sendto(b"hostile", AIMS["datagrams"])


@attempt
def unix_datagram_by_sendmsg() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.sendmsg([b"hostile"], [], 0, AIMS["datagrams"])


@attempt
def unix_socket_while_its_name_changes() -> None:
    """The address is another one by the time that it is looked at again."""
    good, bad = b"\x01\0allowed.socket".ljust(110, b"\0"), b"\x01\0" + AIMS["unix"].encode()
    bad = bad.ljust(110, b"\0")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("allowed.socket")
        listening.listen(64)
        listening.setblocking(False)
        address = ctypes.create_string_buffer(good, 110)
        over = threading.Event()

        def flip() -> None:
            while not over.is_set():
                for _ in range(200):
                    ctypes.memmove(address, bad, 110)
                    ctypes.memmove(address, good, 110)

        turning = threading.Thread(target=flip)
        turning.start()
        try:
            for _ in range(AIMS["races"]):
                with socket.socket(socket.AF_UNIX) as made:
                    if LIBC.connect(made.fileno(), address, 110) == 0:
                        try:
                            listening.accept()[0].close()
                        except BlockingIOError:
                            return
        finally:
            over.set()
            turning.join()
            os.unlink("allowed.socket")
    raise Held


@attempt
def packet_socket() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


@attempt
def raw_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attempt
def socket_of_the_hypervisor() -> None:
    socket.socket(40, socket.SOCK_STREAM).close()
