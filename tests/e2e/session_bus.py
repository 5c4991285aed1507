"""The configuration of a message bus of a test's own."""

# Without the directories of services: nobody but the test starts what answers there.
TEXT = """<busconfig><type>session</type><listen>unix:dir={folder}</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"""


def command(folder):
    """What starts it; it prints its address first."""
    (folder / "bus.conf").write_text(TEXT.format(folder=folder))
    return ["dbus-daemon", f"--config-file={folder}/bus.conf", "--nofork", "--print-address"]
