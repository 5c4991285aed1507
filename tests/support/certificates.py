"""Certificates for tests of TLS."""
import os
import ssl
import subprocess


def make(place, name="gatehouse", names="IP:127.0.0.1"):
    """A new pair in `place`: cert.pem, which is its own authority, and key.pem. Returns a context that trusts only that."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}",
                    "-keyout", place / "new.key", "-out", place / "new.pem"], check=True, capture_output=True)
    context = ssl.create_default_context(cafile=place / "new.pem")
    os.replace(place / "new.key", place / "key.pem")
    os.replace(place / "new.pem", place / "cert.pem")
    return context
