// SPDX-License-Identifier: Apache-2.0
// Commands to run control, and who may give them: the operator's lease, whose secret this tab keeps.
const kept = "weir-lease";

export class Control {
  #lease = null;
  #person = "";
  #since = null;  // two people may have one name
  constructor(notice) {
    this.notice = notice;
    try {
      const saved = JSON.parse(sessionStorage.getItem(kept) ?? "null");
      if (saved) [this.#lease, this.#person, this.#since] = [saved.lease, saved.person, saved.since];
    } catch { /* nothing is kept */ }
  }

  get person() { return this.#person; }
  /// Whether this tab is in control, as far as the live document says.
  mine(live) { return Boolean(this.#lease && live?.control && live.control.person === this.#person && live.control.since === this.#since); }

  async post(path, body) {
    const answer = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal: AbortSignal.timeout(15000)});
    const document = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(document.error ?? `run control answered ${answer.status}`);
    return document;
  }

  /// What goes wrong is shown; true: it was done.
  async #try(work) {
    try {
      await work();
      return true;
    } catch (error) {
      this.notice(error.name === "TimeoutError" || error instanceof TypeError ? "Run control does not answer." : error.message);
      return false;
    }
  }

  take(person, force) {
    return this.#try(async () => {
      const taken = await this.post("/control", {command: force ? "force" : "take", person});
      this.#keep(taken.lease, taken.person, taken.since);
    });
  }
  release() {
    return this.#try(async () => {
      await this.post("/control", {command: "release", lease: this.#lease ?? ""});
      this.#keep(null, this.#person, null);
    });
  }
  command(command) { return this.#try(() => this.post("/run", {...command, lease: this.#lease ?? ""})); }
  acknowledge(alarm) {
    return this.#try(() => this.post("/alarms/acknowledge", {name: alarm.name, station: alarm.station, lease: this.#lease ?? ""}));
  }

  #keep(lease, person, since) {
    this.#lease = lease;
    this.#person = person;
    this.#since = since;
    try { sessionStorage.setItem(kept, JSON.stringify({lease, person, since})); } catch { /* only this page has it then */ }
  }
}
