// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

namespace weir {

static_assert(catalogue_schema_version == 2 && catalogue_application_id == 2003134834, "the texts below say the same");

const char* catalogue_schema_1() noexcept {
    return R"sql(
CREATE TABLE runs (
    run INTEGER NOT NULL,
    recorder TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('OPENED', 'CLOSED')),
    mode TEXT NOT NULL,
    relaxations TEXT NOT NULL,
    started_us INTEGER NOT NULL,
    ended_us INTEGER,
    PRIMARY KEY (run, recorder)
) STRICT;
CREATE TABLE run_parameters (
    run INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, name)
) STRICT;
CREATE TABLE streams (
    run INTEGER NOT NULL,
    recorder TEXT NOT NULL,
    stream_type TEXT NOT NULL,
    stream_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('OPENED', 'CLOSED')),
    PRIMARY KEY (run, recorder, stream_type, stream_name),
    FOREIGN KEY (run, recorder) REFERENCES runs (run, recorder)
) STRICT;
CREATE TABLE lumi_blocks (
    run INTEGER NOT NULL,
    recorder TEXT NOT NULL,
    stream_type TEXT NOT NULL,
    stream_name TEXT NOT NULL,
    lumi_block INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('OPENED', 'CLOSED')),
    PRIMARY KEY (run, recorder, stream_type, stream_name, lumi_block),
    FOREIGN KEY (run, recorder, stream_type, stream_name)
        REFERENCES streams (run, recorder, stream_type, stream_name)
) STRICT;
CREATE TABLE files (
    guid TEXT NOT NULL PRIMARY KEY,
    volume TEXT NOT NULL,
    name TEXT NOT NULL,
    run INTEGER NOT NULL,
    recorder TEXT NOT NULL,
    stream_type TEXT NOT NULL,
    stream_name TEXT NOT NULL,
    lumi_block INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    format TEXT NOT NULL,
    events INTEGER NOT NULL CHECK (events >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    event_bytes INTEGER NOT NULL CHECK (event_bytes >= 0),
    first_event TEXT,
    last_event TEXT,
    file_state TEXT NOT NULL CHECK (file_state IN ('OPENED', 'CLOSED', 'DELETED')),
    transfer_state TEXT NOT NULL CHECK (transfer_state IN ('ONDISK', 'TRANSFERRED')),
    file_health TEXT NOT NULL CHECK (file_health IN ('SANE', 'TRUNCATED', 'QUARANTINED')),
    opened_us INTEGER NOT NULL,
    closed_us INTEGER,
    UNIQUE (volume, name),
    FOREIGN KEY (run, recorder, stream_type, stream_name, lumi_block)
        REFERENCES lumi_blocks (run, recorder, stream_type, stream_name, lumi_block)
) STRICT;
CREATE INDEX files_by_run ON files (run, recorder, stream_type, stream_name, lumi_block, sequence);
CREATE INDEX files_by_state ON files (file_state, transfer_state);
CREATE TABLE file_sums (
    guid TEXT NOT NULL REFERENCES files (guid) ON DELETE CASCADE,
    algorithm TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (guid, algorithm)
) STRICT;
CREATE TABLE stream_overlaps (
    run INTEGER NOT NULL,
    first_stream TEXT NOT NULL,
    second_stream TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('RAW', 'FILE', 'EVENTCOUNT')),
    events_first INTEGER NOT NULL CHECK (events_first >= 0),
    events_second INTEGER NOT NULL CHECK (events_second >= 0),
    events_both INTEGER NOT NULL CHECK (events_both >= 0),
    PRIMARY KEY (run, first_stream, second_stream, kind)
) STRICT;
CREATE TABLE lane_marks (
    recorder TEXT NOT NULL,
    run INTEGER NOT NULL,
    sender TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    connection INTEGER NOT NULL,
    durable TEXT NOT NULL,
    PRIMARY KEY (recorder, run, sender, incarnation, connection),
    FOREIGN KEY (run, recorder) REFERENCES runs (run, recorder)
) STRICT;
CREATE INDEX lane_marks_by_run ON lane_marks (run);
CREATE TABLE ledgers (
    run INTEGER NOT NULL,
    recorder TEXT NOT NULL,
    stream_type TEXT NOT NULL,
    stream_name TEXT NOT NULL,
    received INTEGER NOT NULL CHECK (received >= 0),
    stored INTEGER NOT NULL CHECK (stored >= 0),
    PRIMARY KEY (run, recorder, stream_type, stream_name),
    FOREIGN KEY (run, recorder) REFERENCES runs (run, recorder)
) STRICT;
CREATE TABLE ledger_rejections (
    run INTEGER NOT NULL,
    recorder TEXT NOT NULL,
    stream_type TEXT NOT NULL,
    stream_name TEXT NOT NULL,
    reason TEXT NOT NULL,
    copies INTEGER NOT NULL CHECK (copies >= 0),
    PRIMARY KEY (run, recorder, stream_type, stream_name, reason),
    FOREIGN KEY (run, recorder, stream_type, stream_name)
        REFERENCES ledgers (run, recorder, stream_type, stream_name) ON DELETE CASCADE
) STRICT;
PRAGMA application_id = 2003134834;
PRAGMA user_version = 1;
)sql";
}

// The row of a file may be written anew (put_file) while its copies stay: no reference.
const char* catalogue_schema_2() noexcept {
    return R"sql(
CREATE TABLE transfers (
    guid TEXT NOT NULL,
    destination TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('PENDING', 'COPYING', 'UNVERIFIED', 'TRANSFERRED', 'FAILED')),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    next_try_us INTEGER,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    algorithm TEXT NOT NULL,
    checksum TEXT NOT NULL,
    url TEXT NOT NULL,
    error TEXT NOT NULL,
    first_try_us INTEGER NOT NULL,
    changed_us INTEGER NOT NULL,
    verified_us INTEGER,
    PRIMARY KEY (guid, destination)
) STRICT;
CREATE INDEX transfers_by_state ON transfers (state);
PRAGMA user_version = 2;
)sql";
}

}  // namespace weir
