# SPDX-License-Identifier: Apache-2.0
"""ClickHouse's engine as a library, by its C functions: reads Parquet files and answers queries."""
import ctypes
import json


class Engine:
    def __init__(self, library):
        self.chdb = ctypes.CDLL(library)
        for name in ("chdb_connect", "chdb_query", "chdb_result_buffer"):
            getattr(self.chdb, name).restype = ctypes.c_void_p
        self.chdb.chdb_result_error.restype = ctypes.c_char_p
        self.chdb.chdb_result_length.restype = ctypes.c_size_t
        self.chdb.chdb_query.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        for name in ("chdb_result_buffer", "chdb_result_error", "chdb_result_length", "chdb_destroy_query_result"):
            getattr(self.chdb, name).argtypes = [ctypes.c_void_p]
        arguments = (ctypes.c_char_p * 1)(b"chdb")
        self.connection = ctypes.cast(self.chdb.chdb_connect(1, arguments), ctypes.POINTER(ctypes.c_void_p))

    def rows(self, query):
        """The columns' names, then the rows."""
        result = self.chdb.chdb_query(self.connection[0], query.encode(), b"JSONCompactStringsEachRowWithNames")
        error = self.chdb.chdb_result_error(result)
        if error:
            raise RuntimeError(error.decode())
        text = ctypes.string_at(self.chdb.chdb_result_buffer(result), self.chdb.chdb_result_length(result))
        self.chdb.chdb_destroy_query_result(result)
        return [json.loads(line) for line in text.decode().splitlines()]


def read(library, files, digest):
    """A line for each file, as readers.mjs says them."""
    engine = Engine(library)
    for path in files:
        types = dict(row[:2] for row in engine.rows(f"describe file('{path}', Parquet) settings use_hive_partitioning = 0")[1:])
        names, *rows = engine.rows(f"select * from file('{path}', Parquet) settings use_hive_partitioning = 0")
        meant = [[one if types[name] == "String" else int(one) for name, one in zip(names, row)] for row in rows]
        yield {"reader": "chDB", "path": str(path), "rows": len(rows), "digest": digest(names, meant)}
