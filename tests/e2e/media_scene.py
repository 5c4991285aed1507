"""Images and documents for tests, made of nothing but Python."""
import random
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, row=None, size=None, rows=None):
    """A picture of the same row again and again; large ones are small files. Its head may say another size."""
    packer = zlib.compressobj(1)
    row = row or bytes(x * 5 & 255 for x in range(width * 3))
    data = b"".join(packer.compress(b"\0" + line) for line in rows or [row] * height) + packer.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", *(size or (width, height)), 8, 2, 0, 0, 0))
            + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def pdf(*texts, more=b""):
    """A document with a page for each text."""
    count = len(texts)
    objects = [b"<</Type/Catalog/Pages 2 0 R>>",
               b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(count)), count),
               b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    for i, text in enumerate(texts):
        stream = b"BT /F 18 Tf 20 40 Td (%s) Tj ET" % text.encode()
        objects += [b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 100]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>" % (5 + 2 * i),
                    b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream)]
    out, places = b"%PDF-1.4\n" + more, []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)


def noise(width, height):
    """Rows that no format makes small."""
    return png(width, height, rows=[random.Random(y).randbytes(width * 3) for y in range(height)])
