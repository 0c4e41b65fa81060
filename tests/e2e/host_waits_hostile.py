# SPDX-License-Identifier: Apache-2.0
"""Programs that use the C library's blocking calls in every bad way behave with the recorder as they do without it."""
import shutil
import subprocess

import harness
from survival_case import SurvivalCase

WAYS = ["cancel", "interrupt", "jump", "handlers", "fork", "pingpong"]
SLEEP = 9

# Counts the calls that reach it and passes them on: another tool that interposes what we interpose.
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int waits, reads;
int sem_wait(sem_t* s) { __atomic_add_fetch(&waits, 1, 5); return ((int (*)(sem_t*))dlsym(RTLD_NEXT, "sem_wait"))(s); }
ssize_t read(int f, void* b, size_t n) {
  __atomic_add_fetch(&reads, 1, 5);
  return ((ssize_t (*)(int, void*, size_t))dlsym(RTLD_NEXT, "read"))(f, b, n);
}
__attribute__((constructor)) static void early(void) { char c; if (read(-1, &c, 1) != -1) abort(); }
__attribute__((destructor)) static void tell(void) { if (waits > 0 && reads > 0) fputs("counted\n", stderr); }
"""

# Waits in the constructors of a library that are run before ours.
EARLY = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <poll.h>
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int done;
static void* work(void* p) {
  usleep(1000);
  sem_post(&semaphore);
  pthread_mutex_lock(&mutex); done = 1; pthread_cond_signal(&condition); pthread_mutex_unlock(&mutex);
  return p;
}
__attribute__((constructor)) static void early(void) {
  pthread_t thread;
  sem_init(&semaphore, 0, 0);
  pthread_create(&thread, 0, work, 0);
  int ok = sem_wait(&semaphore) == 0;
  pthread_mutex_lock(&mutex); while (!done) pthread_cond_wait(&condition, &mutex); pthread_mutex_unlock(&mutex);
  ok = ok && pthread_join(thread, 0) == 0 && poll(0, 0, 1) == 0 && syscall(SYS_getpid) == getpid();
  fprintf(stderr, "early %d\n", ok);
}
"""

PLAIN = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
static sem_t semaphore;
static void* work(void* p) { usleep(2000); sem_post(&semaphore); return p; }
int main(void) {
  pthread_t thread; int ends[2]; char text[8];
  sem_init(&semaphore, 0, 0);
  pthread_create(&thread, 0, work, 0);
  int waited = sem_wait(&semaphore);
  pthread_join(thread, 0);
  if (pipe(ends) != 0 || write(ends[1], "hello", 5) != 5) return 1;
  printf("%d %zd\n", waited, read(ends[0], text, sizeof text));
  return 7;
}
"""


class Hostile(SurvivalCase):
    def compile(self, source, name, *options, compiler="cc"):
        if shutil.which(compiler) is None:
            self.skipTest(f"no {compiler}")
        path = self.folder / name
        done = subprocess.run([compiler, "-x", "c", "-", "-O1", "-pthread", "-o", path, *options], input=source, text=True,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            self.skipTest(f"{compiler} {options}: {done.stderr[-300:]}")
        return path

    def check(self, *command, env=None):
        """Same output and status with each way of recording as alone; the records of the last."""
        alone = self.alone(*command, env=env)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        for record in (self.wrapped, self.preloaded):
            self.forget_traces()
            self.assert_same(record(*command, env=env), alone)
        return self.dump()

    def test_programs(self):
        for way in WAYS:
            with self.subTest(way=way):
                records = self.check(harness.program("hostile_waits"), way)
                self.assertTrue(records.of("host_wait"))

    def test_a_thread_that_waits_too_often_gets_its_ration_of_stacks(self):
        records = self.check(harness.program("hostile_waits"), "often")
        without = [record for record in records.of("host_wait") if record["stack"] == 0]
        self.assertGreater(len(without), 0)
        self.assertLess(max(record["duration_ns"] for record in without), 1_000_000)
        self.assertEqual(records.losses().get("host-wait-stacks"), len(without))

    def test_results_and_errno(self):
        self.check(harness.program("wait_results"))

    def test_old_versions(self):
        records = self.check(harness.program("old_waits"))
        calls = {record["call"] for record in records.of("host_wait")}
        self.assertLessEqual({1, 2, SLEEP}, calls)

    def test_children_are_silent(self):
        """The program's main thread sleeps five times; its children, on its memory or on copies of it, sleep more."""
        records = self.check(harness.program("hostile_waits"), "fork")
        main = int(records.facts["pid"])
        sleeps = [record for record in records.of("host_wait") if record["thread"] == main and record["call"] == SLEEP]
        self.assertEqual(len(sleeps), 5)

    def test_waits_before_our_constructor(self):
        library = self.compile(EARLY, "libearly.so", "-shared", "-fPIC")
        for order in ([harness.LIBRARY, library], [library, harness.LIBRARY]):
            done = self.preload(harness.program("wait_results"), env={"LD_PRELOAD": ":".join(map(str, order))})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("early 1\n", done.stderr)
            self.assertEqual(done.stdout, self.alone(harness.program("wait_results")).stdout)

    def test_beside_another_interposer(self):
        library = self.compile(COUNTER, "libcounter.so", "-shared", "-fPIC")
        for order in ([harness.LIBRARY, library], [library, harness.LIBRARY]):
            with self.subTest(order=order):
                self.forget_traces()
                done = self.preload(harness.program("wait_results"), env={"LD_PRELOAD": ":".join(map(str, order))})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("counted\n", done.stderr)
                self.assertEqual(done.stdout, self.alone(harness.program("wait_results")).stdout)
                self.assertEqual(self.dump().facts["host_waits"], "preload")

    def check_plain(self, program, env=None):
        alone = self.run_program(program, env=env)
        if alone.returncode != 7:  # a sanitizer that this kernel's address space is not made for
            self.skipTest(alone.stderr[-300:])
        recorded = self.run_program(program, env={**(env or {}), "LD_PRELOAD": harness.LIBRARY})
        self.assertEqual((recorded.returncode, recorded.stdout, recorded.stderr), (7, "0 5\n", alone.stderr))

    def test_program_without_cuda(self):
        for options in ([], ["-Wl,-z,now"], ["-Wl,-z,lazy"], ["-D_FORTIFY_SOURCE=2"], ["-static"], ["-no-pie"]):
            with self.subTest(options=options):
                self.check_plain(self.compile(PLAIN, "plain", *options))

    def test_sanitizers(self):
        for sanitizer in ("address", "undefined", "thread"):
            with self.subTest(sanitizer=sanitizer):
                program = self.compile(PLAIN, "sane", f"-fsanitize={sanitizer}", compiler="clang")
                self.check_plain(program, env={"ASAN_OPTIONS": "verify_asan_link_order=0"})


if __name__ == "__main__":
    harness.main()
