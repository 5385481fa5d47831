"""No garbage is collected while something is loaded, by however many threads."""

import gc
from threading import Event, Thread

from paribus._loading import uncollected


def test_collecting_goes_on_when_the_last_thread_has_loaded():
    entered, leave = Event(), Event()

    def load():
        with uncollected():
            entered.set()
            leave.wait(10)

    thread = Thread(target=load)
    with uncollected():
        thread.start()
        assert entered.wait(10)
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_who_has_disabled_it_finds_it_disabled():
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
