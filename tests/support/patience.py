"""How long the tests wait for what must happen."""

# Seconds. Nobody waits that long where all is well; a disk may stand still for more than a minute,
# and a process that was killed is not gone before its last write is. Each test as a whole has
# longer: see tests/meson.build.
PATIENCE = 300
