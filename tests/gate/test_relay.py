"""Many connections at once, and servers that try to use the relay up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_jail.gate.relay import CONNECTIONS, OPENING

OnAMachine = Callable[..., Any]


def test_two_hundred_connections_at_once_all_get_their_bytes(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        all_open = threading.Barrier(200)
        wrong = []
        def one(number):
            data = bytes((number,)) * 200_000
            try: talk(number, data)
            except Exception as error: wrong.append(repr(error)); all_open.abort()
        def talk(number, data):
            with connect("api.example.com", 7, 60) as s:
                all_open.wait(60)
                threading.Thread(target=lambda: (s.sendall(data), s.shutdown(1))).start()
                got = b""
                while more := s.recv(65536): got += more
                if got != data: wrong.append(number)
        threads = [threading.Thread(target=one, args=(number,)) for number in range(200)]
        [t.start() for t in threads]; [t.join() for t in threads]
        tell(wrong)
    ''', allowlist("api.example.com:7"))
    closed = [a for a in run.attempts if a.what is What.CLOSED]
    tell([run.said, sum(a.times for a in closed), sum(a.sent for a in closed),
          sum(a.received for a in closed)])
    """
    assert on_a_machine(code) == [[], 200, 200 * 200_000, 200 * 200_000]


def test_large_data_passes_unchanged_in_both_directions(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        import hashlib
        size = 200 << 20
        with connect("api.example.com", 9001) as s:  # sends as much as it is asked for
            s.sendall(b"%d" % size)
            got = 0
            while more := s.recv(1 << 20): got += len(more)
        with connect("api.example.com", 9000) as s:  # counts what it gets
            block = bytes(1 << 20)
            for _ in range(size >> 20): s.sendall(block)
            s.shutdown(socket.SHUT_WR)
            counted = int(s.recv(100))
        random = os.urandom(5 << 20)
        with connect("api.example.com", 7) as s:
            threading.Thread(target=lambda: (s.sendall(random), s.shutdown(1))).start()
            back = b""
            while more := s.recv(1 << 20): back += more
        tell([got == size, counted == size, back == random])
    ''', allowlist("api.example.com:9001", "api.example.com:9000", "api.example.com:7"))
    tell(run.said)
    """
    assert on_a_machine(code) == [True, True, True]


def test_a_server_that_speaks_first_and_one_that_resets(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        with connect("api.example.com", 2222) as s:
            banner = s.recv(100)
            s.sendall(b"thanks")
            rest = s.recv(100)
        tell([(banner + rest).decode(), outcome("api.example.com", 9003, b"x")])
    ''', allowlist("api.example.com:2222", "api.example.com:9003"))
    tell(run.said)
    """
    said, reset = on_a_machine(code)
    assert said == "220 hello\r\nyou said thanks"
    assert reset == "ConnectionResetError"


def test_those_who_open_and_say_nothing_are_limited_and_others_still_get_through(
    on_a_machine: OnAMachine,
) -> None:
    """Slow-loris: connections to a port where a hello is waited for, some of them a byte long."""
    code = """
    on_a_machine(FOLDER, HOSTS)
    count = int(sys.argv[2])
    run = python_inside(FOLDER, '''
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        silent = []
        for number in range(COUNT):
            try:
                silent.append(connect("api.example.com", 443))
                if number % 2: silent[-1].send(bytes((0x16,)))
            except ConnectionError:
                pass
        def is_alive(s):
            s.settimeout(0)
            try: return s.recv(1) != b""
            except BlockingIOError: return True
            except OSError: return False
        while (alive := sum(map(is_alive, silent))) > OPENING: pass
        for s in silent[:50]: s.close()
        while (through := outcome("api.example.com", 7, b"x")) == "ConnectionResetError": pass
        tell([alive, through])
    ''', allowlist("api.example.com", "api.example.com:7"),
        given={"COUNT": count, "OPENING": count - 100})
    why = {a.why for a in run.attempts if a.verdict is Verdict.DENY}
    tell([run.said, sorted(why)])
    """
    (alive, through), why = on_a_machine(code, str(OPENING + 100))
    assert OPENING - 20 <= alive <= OPENING
    assert through == "x"
    assert "too many connections at once" in why


def test_a_hello_that_never_ends_is_cut_off(on_a_machine: OnAMachine) -> None:
    code = """
    from mcp_jail.gate import connection
    connection.FIRST_BYTES_DEADLINE = 0.5
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        def drip(first):
            with connect("api.example.com", 443) as s:
                try:
                    for byte in first + bytes(100_000):
                        s.send(bytes((byte,))); time.sleep(0.02)
                except OSError as error:
                    return type(error).__name__
        with connect("api.example.com", 443) as s:
            try: silence = s.recv(1)
            except OSError as error: silence = type(error).__name__
        tell([drip(bytes((0x16, 3, 1, 0x3f, 0, 1, 0, 0x3e, 0))), silence])
    ''', allowlist("api.example.com"))
    tell([run.said, [a.why for a in run.attempts if a.verdict is Verdict.DENY]])
    """
    (dripped, silence), why = on_a_machine(code)
    assert dripped in {"ConnectionResetError", "BrokenPipeError"}
    assert silence == "ConnectionResetError"
    assert why == ["no ClientHello for the name in time"] * 2


def test_more_connections_than_the_relay_takes_are_reset_and_the_rest_live(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    count = int(sys.argv[2])
    run = python_inside(FOLDER, '''
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        def talks(s):
            try:
                s.sendall(b"x")
                return s.recv(1) == b"x"
            except OSError: return False
        made = []
        for number in range(COUNT + 50):
            try:
                s = connect("api.example.com", 7)
                made.append((s, talks(s)))
            except ConnectionError: pass
        alive = sum(talks(s) for s, _ in made)
        for s, _ in made[:100]: s.close()
        while (again := outcome("api.example.com", 7, b"y")) == "ConnectionResetError": pass
        tell([alive, again])
    ''', allowlist("api.example.com:7"), given={"COUNT": count})
    refused = sum(a.times for a in run.attempts if a.why == "too many connections at once")
    tell([run.said, refused >= 50])
    """
    assert on_a_machine(code, str(CONNECTIONS)) == [[CONNECTIONS, "y"], True]


def test_with_few_descriptors_there_are_fewer_connections_and_no_bug(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    import resource
    on_a_machine(FOLDER, HOSTS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
    run = python_inside(FOLDER, '''
        def talks(s):
            try:
                s.sendall(b"x")
                return s.recv(1) == b"x"
            except OSError: return False
        made = []
        for _ in range(100):
            try: made.append(connect("api.example.com", 7))
            except ConnectionError: pass
        tell([sum(map(talks, made)) for _ in range(2)])
    ''', allowlist("api.example.com:7"))
    tell([run.said, [a.what.value for a in run.attempts if a.what is What.BROKEN]])
    """
    (first, second), bugs = on_a_machine(code)
    assert first == second == (512 - 256) // 6
    assert bugs == []


def test_streams_that_stand_still_do_not_stop_one_that_runs(on_a_machine: OnAMachine) -> None:
    """Readers that never read: their pipes and buffers fill, and stay so."""
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        stuck = [connect("api.example.com", 9001) for _ in range(100)]
        for s in stuck: s.sendall(b"%d" % (100 << 20))
        size = 50 << 20
        with connect("api.example.com", 9001) as s:
            s.sendall(b"%d" % size)
            got = 0
            while more := s.recv(1 << 20): got += len(more)
        tell(got == size)
    ''', allowlist("api.example.com:9001"))
    tell(run.said)
    """
    assert on_a_machine(code) is True


def test_an_idle_connection_is_ended_when_its_time_has_come(on_a_machine: OnAMachine) -> None:
    code = """
    from mcp_jail.gate import connection, relay
    relay.IDLE_LOOK, connection.IDLE = 0.05, 0.5
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        def wait(s):
            try: return s.recv(1).decode()
            except OSError as error: return type(error).__name__
        busy, idle = connect("api.example.com", 7), connect("api.example.com", 7)
        ended = []
        threading.Thread(target=lambda: ended.append(wait(idle)), daemon=True).start()
        while not ended:
            busy.sendall(b"x"); assert busy.recv(1) == b"x"; time.sleep(0.02)
        busy.sendall(b"y")
        tell([ended, wait(busy)])
    ''', allowlist("api.example.com:7"))
    tell(run.said)
    """
    assert on_a_machine(code) == [["ConnectionResetError"], "y"]


def test_what_was_open_at_the_end_is_told_with_its_bytes(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        s = connect("api.example.com", 7)
        s.sendall(b"12345"); s.recv(5)
        os._exit(tell(1) or 0)
    ''', allowlist("api.example.com:7"))
    tell([[a.sent, a.received, a.rule, a.address] for a in run.attempts if a.what is What.CLOSED])
    """
    assert on_a_machine(code) == [[5, 5, "api.example.com:7", "93.184.216.34"]]
