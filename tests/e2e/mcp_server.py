# SPDX-License-Identifier: Apache-2.0
"""`synctrace mcp` over its pipes: whole sessions, as a client of the Model Context Protocol has them, and clients that misbehave."""
import json
import os
import pathlib
import shutil
import subprocess

import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACE = GOLDEN / "frameworks" / "advice.pageable_upload.synctrace"
JOB = GOLDEN / "jobs" / "ddp_host"
LIMIT_BYTES = 6000


def message(method, number=None, **params):
    return {"jsonrpc": "2.0", **({} if number is None else {"id": number}), "method": method, **({"params": params} if params else {})}


def call(number, tool, **arguments):
    return message("tools/call", number, name=tool, arguments=arguments)


class McpServer(harness.CliTest):
    def setUp(self):
        super().setUp()
        shutil.copy(TRACE, self.folder / "a.synctrace")

    def session(self, *messages, status=0, folder=None):
        """What the server answers, by id."""
        text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in messages)
        done = self.run_cli("mcp", input=text) if folder is None else \
            subprocess.run([harness.SYNCTRACE, "mcp"], cwd=folder, input=text, text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        for one in answers:
            self.assertEqual(one["jsonrpc"], "2.0")
            self.assertEqual(len({"result", "error"} & set(one)), 1, one)
        self.assertEqual(len({str(one["id"]) for one in answers if one["id"] is not None}), len([one for one in answers if one["id"] is not None]))
        return {one["id"]: one for one in answers}

    def text_of(self, answer, is_error=False):
        result = answer["result"]
        self.assertEqual(result["isError"], is_error, result)
        (content,) = result["content"]
        self.assertEqual(content["type"], "text")
        self.assertLessEqual(len(content["text"].encode()), LIMIT_BYTES)
        return content["text"]

    def test_a_whole_session(self):
        found = self.session(
            message("initialize", 0, protocolVersion="2025-06-18", capabilities={"roots": {"listChanged": True}}, clientInfo={"name": "t", "version": "0"}),
            message("notifications/initialized"),
            message("tools/list", "list"),
            call(2, "report", traces=["a.synctrace"]),
            call(3, "explain", name="ST011"),
            call(4, "diff", before=["a.synctrace"], after=["./a.synctrace"]),
            call(5, "gate", traces=["a.synctrace"]),
            message("ping", 6))
        self.assertEqual(found[0]["result"]["protocolVersion"], "2025-06-18")
        tools = {tool["name"]: tool for tool in found["list"]["result"]["tools"]}
        self.assertLessEqual({"report", "explain", "diff", "gate"}, set(tools))
        for name, tool in tools.items():
            self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertEqual(tool["annotations"]["readOnlyHint"], name != "try")
        self.assertEqual(self.text_of(found[2]), self.run_cli("report", "--no-symbols", "--format=agent", "a.synctrace").stdout)
        self.assertIn("ST011 pageable-h2d\n", self.text_of(found[3]))
        self.assertIn("| no difference in lines", self.text_of(found[4]))
        gate = self.text_of(found[5])
        self.assertTrue(all(line.startswith("| ") for line in gate.splitlines()[:-1]), gate)
        self.assertTrue(gate.endswith("\nexit status 1\n"), gate)
        self.assertEqual(found[6]["result"], {})

    def test_try_is_listed_where_there_is_such_a_verb(self):
        tools = self.session(message("tools/list", 1))[1]["result"]["tools"]
        there_is = self.run_cli("help", "try").returncode == 0
        self.assertEqual([tool["annotations"] for tool in tools if tool["name"] == "try"],
                         [{"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}] if there_is else [])

    def test_a_job_in_a_folder(self):
        shutil.copytree(JOB, self.folder / "job")
        found = self.session(call(1, "report", traces=["job"]), call(2, "report", traces=["job"], rank="1"))
        self.assertIn("a job of 2 ranks\n", self.text_of(found[1]))
        self.assertIn("change ", self.text_of(found[2]))

    def test_files_outside_are_refused(self):
        os.symlink(TRACE, self.folder / "away.synctrace")
        found = self.session(call(1, "report", traces=[str(TRACE)]), call(2, "report", traces=["away.synctrace"]), call(3, "report", traces=["."]),
                             call(4, "gate", traces=["a.synctrace"], config="/etc/hostname"), call(5, "report", traces=["b.synctrace"]))
        for number in (1, 2, 3, 4):
            self.assertIn("not below the folder that the server was started in", self.text_of(found[number], is_error=True))
        self.assertIn("'b.synctrace' is not there.", self.text_of(found[5], is_error=True))

    def test_no_source_above_the_folder_is_read(self):
        """A comment in a source file allows a wait; the file counts only below the folder."""
        repository = self.folder / "repository"
        (repository / ".git").mkdir(parents=True)
        (repository / "runs").mkdir()
        line, comment = "if (step == steps / 5) cudaDeviceSynchronize(), start = std::chrono::steady_clock::now();", "// synctrace: allow[ST002] a test"
        text = self.run_cli("dump", TRACE).stdout.replace("/home/user", str(repository))
        self.assertIn(line, text)
        self.assemble_trace(text, "repository/runs/a")
        source = repository / "pageable_upload.cu"
        source.write_text("\n" * 49 + f"{comment}\n    {line}\n", encoding="utf-8")
        inside = self.session(call(1, "gate", traces=["runs/a.synctrace"]), folder=repository)
        self.assertIn("exit status 0\n", self.text_of(inside[1]))
        below = self.session(call(1, "gate", traces=["a.synctrace"]), folder=repository / "runs")
        self.assertIn("exit status 1\n", self.text_of(below[1]))

    def test_what_a_trace_does_to_a_tool_ends_with_it(self):
        (self.folder / "b.synctrace").write_bytes(b"no trace")
        (self.folder / "c.synctrace").write_bytes(TRACE.read_bytes()[:999])
        found = self.session(call(1, "report", traces=["b.synctrace"]), call(2, "report", traces=["c.synctrace"]), message("ping", 3))
        self.assertIn("| synctrace report: b.synctrace: is not a synctrace trace", self.text_of(found[1], is_error=True))
        self.assertIn("content", found[2]["result"])
        self.assertEqual(found[3]["result"], {})

    def test_lines_that_are_no_requests(self):
        found = self.session("x" * 200_000, "{", "", "   ", '{"jsonrpc":"2.0","id":1,"method":"ping"}\r', "[" * 60_000, json.dumps(message("ping", 2)))
        self.assertEqual((found[1]["result"], found[2]["result"]), ({}, {}))
        self.assertIn("error", found[None])

    def test_a_line_comes_in_pieces_and_the_last_has_no_end(self):
        server = self.start(harness.SYNCTRACE, "mcp", stdin=subprocess.PIPE)
        server.stdin.write('{"jsonrpc":"2.0",')
        server.stdin.flush()
        server.stdin.write('"id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}')
        server.stdin.flush()
        self.assertEqual(json.loads(server.stdout.readline())["id"], 1)
        out, _ = server.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(json.loads(out)["id"], 2)
        self.assertEqual(server.returncode, 0)

    def test_calls_wait_for_their_turn(self):
        calls = [call(number, "explain", name="ST020") for number in range(24)]
        text = "".join(json.dumps(one) + "\n" for one in [*calls, message("ping", "p"), message("notifications/cancelled", requestId=3)])
        self.assertLess(len(text), 4096)  # it is one write, and so one read
        done = self.run_cli("mcp", input=text)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        refused = [one["id"] for one in answers if "error" in one]
        self.assertEqual(refused, list(range(16, 24)))
        order = [one["id"] for one in answers if "result" in one]
        self.assertEqual(order, ["p", *(number for number in range(16) if number != 3)])

    def test_it_serves_a_program_and_no_home(self):
        for folder, env in (("/", {}), (self.folder, {"HOME": str(self.folder)})):
            done = subprocess.run([harness.SYNCTRACE, "mcp"], cwd=folder, env={**os.environ, **env}, input="", text=True, capture_output=True,
                                  timeout=harness.PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 2)
            self.assert_one_line(done.stderr, "start it in the program's folder")


if __name__ == "__main__":
    harness.main()
