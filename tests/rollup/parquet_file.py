# SPDX-License-Identifier: Apache-2.0
"""Reads flat Parquet files by the format's own description, knowing nothing of who wrote them: required columns, plain
pages packed by zstd. What a reader may ignore is checked here: sizes, counts, encodings, least and largest values."""
import ctypes
import struct

INT64, BYTE_ARRAY = 2, 6
UTF8, UINT_64 = 0, 14
PLAIN, ZSTD, DATA_PAGE, REQUIRED = 0, 6, 0, 0


def zstd():
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return library


LIBRARY = zstd()


def unpacked(packed, size):
    out = ctypes.create_string_buffer(size + 1)
    assert LIBRARY.ZSTD_decompress(out, size, packed, len(packed)) == size
    return out.raw[:size]


class Thrift:
    """Values of the compact protocol: a struct is a dict by field number."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            value = self.varint()
            return value >> 1 ^ -(value & 1)
        if kind == 8:
            size = self.varint()
            self.at += size
            return self.data[self.at - size:self.at]
        if kind == 9:
            head = self.byte()
            count = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        return self.struct()

    def struct(self):
        fields, number = {}, 0
        while head := self.byte():
            assert head >> 4 > 0
            number += head >> 4
            fields[number] = self.value(head & 15)
        return fields


def values_of(kind, data, count):
    if kind == INT64:
        return list(struct.unpack(f"<{count}q", data))
    values, at = [], 0
    for _ in range(count):
        size, = struct.unpack_from("<I", data, at)
        values.append(data[at + 4:at + 4 + size])
        at += 4 + size
    assert at == len(data)
    return values


class Column:
    def __init__(self, element):
        self.kind, self.name, self.says = element[1], element[4].decode(), element.get(6)
        assert element[3] == REQUIRED
        assert (self.kind, self.says) in ((INT64, None), (INT64, UINT_64), (BYTE_ARRAY, UTF8))

    def meant(self, raw):
        if self.kind == BYTE_ARRAY:
            return raw.decode("utf-8")
        return raw % (1 << 64) if self.says == UINT_64 else raw


class ParquetFile:
    """`columns` and `rows`, each a dict by the columns' names; `groups`: number of rows of each group."""

    def __init__(self, path):
        data = path.read_bytes()
        size, = struct.unpack_from("<I", data, len(data) - 8)
        assert data[:4] == data[-4:] == b"PAR1"
        reader = Thrift(data, len(data) - 8 - size)
        footer = reader.struct()
        assert reader.at == len(data) - 8
        root, *elements = footer[2]
        assert root[5] == len(elements) == len(footer[7])
        self.columns = [Column(element) for element in elements]
        self.rows, self.groups, end = [], [], 4
        for group in footer[4]:
            assert len(group[1]) == len(self.columns)
            columns = []
            for column, chunk in zip(self.columns, group[1]):
                values, end = self.chunk(data, column, chunk[3], group[3], end)
                columns.append(values)
            assert group[2] == sum(chunk[3][6] for chunk in group[1])
            self.groups.append(group[3])
            self.rows += [dict(zip((column.name for column in self.columns), row)) for row in zip(*columns)]
        assert end == len(data) - 8 - size and len(self.rows) == footer[3]

    @staticmethod
    def chunk(data, column, meta, rows, begin):
        assert (meta[1], meta[2], meta[3], meta[4]) == (column.kind, [PLAIN], [column.name.encode()], ZSTD)
        assert meta[5] == rows and meta[9] == begin
        reader = Thrift(data, begin)
        page = reader.struct()
        assert page[1] == DATA_PAGE and page[5][1] == rows and page[5][2] == PLAIN
        end = reader.at + page[3]
        assert meta[7] == end - begin and meta[6] == reader.at - begin + page[2]
        raw = values_of(column.kind, unpacked(data[reader.at:end], page[2]), rows)
        values = [column.meant(one) for one in raw]
        if 12 in meta:
            bounds = [values_of(column.kind, meta[12][field], 1)[0] if column.kind == INT64 else meta[12][field] for field in (6, 5)]
            assert [column.meant(one) for one in bounds] == [min(values), max(values)] or column.kind == BYTE_ARRAY
            assert column.kind == INT64 or bounds == [min(raw), max(raw)]
        else:
            assert column.kind == BYTE_ARRAY
        return values, end
