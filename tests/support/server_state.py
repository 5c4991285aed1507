"""State of a server with very many users, for the programs that put load on it.

User N's machine has the key "sess_" and its agent "agent_", each with N in 32 digits; its browser has
the cookie "ghses_" with them. See gateway_crowd.h.
"""
import hashlib
import json
import pathlib
import sqlite3
import subprocess
import time

SCHEMA = {"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]}
INIT = json.dumps({
    "rootPath": "/srv/project", "hostIdentifier": "load",
    "tools": [{"name": "read_file", "description": "Reads a file", "inputSchema": SCHEMA}],
    "toolCategories": [{"name": "filesystem", "enabled": True, "writeAccess": False}]})
FILE_GROUPS = 3


def digest(prefix, number):
    return hashlib.sha256(f"{prefix}_{number:032}".encode()).digest()


def cookie(number, port):
    """For the server at this port, which is part of the name."""
    return f"gatehouse_session_{port}=ghses_{number:032}"


def insert(database, table, rows):
    """Of the columns that the table has: which they are may change with its version."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    used = [name for name in rows[0] if name in columns]
    database.executemany(
        f"INSERT INTO {table}({', '.join(used)}) VALUES ({', '.join('?' * len(used))})",
        [tuple(row[name] for name in used) for row in rows])


def prepare(gatehouse, state, machines, agents, logins=()):
    """Creates the state of a server with these users' machines, agents and logins."""
    state = pathlib.Path(state)
    subprocess.run([gatehouse, "agent", "add", "first", "--state-dir", state], check=True,
                   stdout=subprocess.DEVNULL)
    now = int(time.time() * 1000)
    users = sorted({*machines, *agents, *logins} - {1})
    with sqlite3.connect(state / "server/server.db") as database:
        if users:
            insert(database, "users", [{"id": number, "name": f"user{number}", "created_ms": now}
                                       for number in users])
        if machines:
            insert(database, "machines", [
                {"user": number, "key_digest": digest("sess", number), "connected_ms": now,
                 "init": INIT.encode()} for number in machines])
        if agents:
            insert(database, "agents", [
                {"user": number, "name": "load", "key_digest": digest("agent", number),
                 "groups": FILE_GROUPS, "created_ms": now} for number in agents])
        if logins:
            insert(database, "logins", [
                {"digest": digest("ghses", number), "user": number, "created_ms": now,
                 "used_ms": now, "expires_ms": now + 86400000, "address": "", "browser": ""}
                for number in logins])
    database.close()
