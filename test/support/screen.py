# SPDX-License-Identifier: Apache-2.0
"""A terminal of its own (tmux), in which a test looks at a program as its user does: keys go in, the screen comes out."""
import itertools
import os
import shlex
import shutil
import subprocess

from weir_process import wait_until

NO_TMUX = None if shutil.which("tmux") else "tmux is not there (tools/setup --dev)"


class Screen:
    """A shell in a terminal; `type` a command there. Its server is one of its own, and ends with it."""

    count = itertools.count()

    def __init__(self, folder, columns=80, rows=24):
        self.socket = os.path.join(folder, f"tmux-{next(self.count)}")
        environment = {key: value for key, value in os.environ.items() if key != "TMUX"}
        environment |= {"PS1": "ready> ", "LC_ALL": "C.UTF-8", "TERM": "screen-256color"}
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                        "env PS1='ready> ' sh"], env=environment, check=True, timeout=60)
        self.until("ready>")

    def _tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, check=True, timeout=60).stdout.decode()

    def type(self, *command):
        """A command line, and enter."""
        self._tmux("send-keys", "-l", shlex.join(map(str, command)))
        self._tmux("send-keys", "Enter")

    def press(self, *keys):
        """Keys by tmux's names: q, Enter, Down, C-c."""
        self._tmux("send-keys", *keys)

    def text(self):
        return self._tmux("capture-pane", "-p")

    def until(self, *words, without=()):
        """The screen, once all words are on it."""
        seen = [""]

        def there():
            seen[0] = self.text()
            return all(w in seen[0] for w in words) and not any(w in seen[0] for w in without) and seen[0]

        return wait_until(there, lambda: f"{words} on the screen, but:\n{seen[0]}", poll=0.1)

    def resize(self, columns, rows):
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def settings(self):
        """Of the terminal, as the shell sees them: what a program has to leave as it found it."""
        self.type("clear")
        self.until("ready>", without=["-extproc"])  # of an earlier call
        self.type("stty", "-a")
        shown = self.until("ready>", "speed ", "-extproc").splitlines()
        begin = max(i for i, line in enumerate(shown) if line.startswith("speed"))
        return [line for line in shown[begin:] if line.strip() and not line.startswith("ready>")]

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
