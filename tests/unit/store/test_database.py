"""Transactions and statements on a driver: what is kept, what is not, and which connection is used."""

import sqlite3

import pytest

from becalm.store.database import POSTGRESQL, SQLITE, Connection, Database, sqlite


@pytest.fixture
def database(tmp_path):
    result = Database(SQLITE, lambda: sqlite(f"file:{tmp_path}/x.db", 5), sqlite3.Error)
    with result.transaction(writes=True) as db:
        db.execute('CREATE TABLE "thing" (id INTEGER PRIMARY KEY, name TEXT, size INTEGER)')
    yield result
    result.close()


def count(database):
    with database.transaction() as db:
        return db.value("SELECT count(*) FROM thing")


def test_values_have_names(database):
    with database.transaction(writes=True) as db:
        assert db.insert_numbered("thing", name="a:b", size=3) == 1
        db.insert("thing", name="c", size=None)
        db.insert_rows("thing", ("name", "size"), [("d", 5), ("e", 6)])
        assert db.value("SELECT size FROM thing WHERE name = :name AND size > :least", name="a:b", least=2) == 3
        assert db.value("SELECT size FROM thing WHERE name = :name", name="?") is None
        assert list(db.parts("SELECT name FROM thing WHERE id > :id ORDER BY id", 2, id=0)) == [
            [("a:b",), ("c",)],
            [("d",), ("e",)],
        ]
        assert db.tables() == ["thing"]


class Said:
    """A connection that tells what it is asked."""

    def __init__(self):
        self.asked = []

    def execute(self, *words):
        self.asked.append(words)


def test_a_value_is_marked_as_the_server_wants_it_and_a_cast_is_none():
    connection = Said()
    Connection(connection, POSTGRESQL).execute("SELECT a::text FROM t WHERE b = :b AND c = :c_d", b=1, c_d=2)
    assert connection.asked == [("SELECT a::text FROM t WHERE b = %(b)s AND c = %(c_d)s", {"b": 1, "c_d": 2})]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, sqlite3.OperationalError])
def test_an_exception_undoes_all_and_the_connection_goes_on(database, error):
    def fail():
        with database.transaction(writes=True) as db:
            db.insert("thing", name="a", size=1)
            raise error

    with pytest.raises(error):
        fail()
    assert count(database) == 0
    with database.transaction(writes=True) as db:
        db.insert("thing", name="a", size=1)
    assert count(database) == 1


def test_a_reader_that_is_left_in_the_middle_keeps_nobody_from_writing(database):
    with database.transaction(writes=True) as db:
        db.insert_rows("thing", ("name", "size"), [("x", number) for number in range(100)])

    def names():
        with database.transaction() as db:
            for rows in db.parts("SELECT name FROM thing", 10):
                yield from rows

    reader = names()
    assert next(reader) == ("x",)
    with database.transaction(writes=True) as db:
        db.insert("thing", name="y", size=0)
    assert count(database) == 101
    reader.close()
    assert count(database) == 101


def test_in_memory_a_transaction_within_another_is_a_part_of_it():
    result = Database(SQLITE, lambda: sqlite(":memory:", 5), sqlite3.Error, single=True)
    with result.transaction(writes=True) as db:
        db.execute("CREATE TABLE thing (id INTEGER PRIMARY KEY)")

    def fail():
        with result.transaction(writes=True) as db:
            db.insert_numbered("thing", id=1)
            with result.transaction(writes=True) as inner:
                inner.insert_numbered("thing", id=2)
            assert count(result) == 2
            raise ValueError("all")

    with pytest.raises(ValueError, match="all"):
        fail()
    assert count(result) == 0
    result.close()


class Server:
    """Connections of a server that can be started anew: those of before are broken then."""

    def __init__(self):
        self.made, self.broken = [], set()

    def connect(self):
        self.made.append(Session(self, len(self.made)))
        return self.made[-1]


class Session:
    def __init__(self, server, number):
        self.server, self.number, self.closed = server, number, False

    def execute(self, *words):
        if self.number in self.server.broken:
            raise ConnectionError("the server was started anew")

    def rollback(self):
        self.execute()

    def close(self):
        self.closed = True


def test_a_connection_that_broke_while_it_waited_is_replaced():
    server = Server()
    database = Database(POSTGRESQL, server.connect, ConnectionError)
    for _ in range(2):
        with database.transaction():
            pass
    assert len(server.made) == 1, "it is kept"
    server.broken = {0}
    with database.transaction():
        pass
    assert [connection.closed for connection in server.made] == [True, False]

    def use():
        with database.transaction(writes=True) as db:
            server.broken = {0, 1}
            db.execute("SELECT 1")

    with pytest.raises(ConnectionError):
        use()
    assert server.made[1].closed
    with database.transaction():
        pass
    assert len(server.made) == 3
