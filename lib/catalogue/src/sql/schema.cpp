// SPDX-License-Identifier: Apache-2.0
#include "sql/schema.hpp"

namespace weir::catalogue {

static_assert(catalogue_schema_version == 3 && catalogue_application_id == 2003134834, "the text below has the same");

// transfers and file_shares have no reference to files: put_file() writes the row of a file anew, and they stay.
const char* catalogue_schema() noexcept {
    return R"sql(
CREATE TABLE runs (
    run INTEGER NOT NULL,
    recorder TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('OPENED', 'CLOSED')),
    mode TEXT NOT NULL,
    relaxations TEXT NOT NULL,
    started_us INTEGER NOT NULL,
    ended_us INTEGER,
    blocks_closed_below INTEGER NOT NULL DEFAULT 0,
    reader_state TEXT NOT NULL DEFAULT '',
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
    closed_us INTEGER,
    reader_state TEXT NOT NULL DEFAULT '',
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
    reader_state TEXT NOT NULL DEFAULT '',
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
CREATE TABLE file_shares (
    guid TEXT NOT NULL,
    stream TEXT NOT NULL,
    events INTEGER NOT NULL CHECK (events > 0),
    PRIMARY KEY (guid, stream)
) STRICT;
CREATE VIEW reader_files AS
    SELECT f.guid, f.volume, f.name, f.run, f.recorder, f.stream_type, f.stream_name, f.lumi_block, f.sequence, f.format,
           f.events, f.bytes, f.event_bytes, f.first_event, f.last_event,
           (SELECT s.value FROM file_sums s WHERE s.guid = f.guid AND s.algorithm = 'adler32') AS adler32,
           f.file_state, f.transfer_state, f.file_health, f.opened_us, f.closed_us, f.reader_state
    FROM files f;
CREATE VIEW reader_recorder_blocks AS
    SELECT b.run, b.recorder, b.stream_type, b.stream_name, b.lumi_block,
           CASE WHEN b.state = 'OPENED' THEN 'OPENED'
                WHEN EXISTS (SELECT 1 FROM files f WHERE f.run = b.run AND f.recorder = b.recorder
                             AND f.stream_type = b.stream_type AND f.stream_name = b.stream_name
                             AND f.lumi_block = b.lumi_block AND f.transfer_state <> 'TRANSFERRED') THEN 'CLOSED'
                ELSE 'TRANSFERRED' END AS state,
           b.closed_us, b.reader_state
    FROM lumi_blocks b;
CREATE VIEW reader_blocks AS
    SELECT b.run, b.stream_type, b.stream_name, b.lumi_block,
           CASE WHEN EXISTS (SELECT 1 FROM lumi_blocks o WHERE o.run = b.run AND o.stream_type = b.stream_type
                             AND o.stream_name = b.stream_name AND o.lumi_block = b.lumi_block AND o.state = 'OPENED')
                  OR EXISTS (SELECT 1 FROM runs r WHERE r.run = b.run AND r.state = 'OPENED'
                             AND (b.lumi_block = 0 OR r.blocks_closed_below <= b.lumi_block)
                             AND NOT EXISTS (SELECT 1 FROM lumi_blocks c WHERE c.run = r.run AND c.recorder = r.recorder
                                             AND c.stream_type = b.stream_type AND c.stream_name = b.stream_name
                                             AND c.lumi_block = b.lumi_block)) THEN 'OPENED'
                WHEN EXISTS (SELECT 1 FROM files f WHERE f.run = b.run AND f.stream_type = b.stream_type
                             AND f.stream_name = b.stream_name AND f.lumi_block = b.lumi_block
                             AND f.transfer_state <> 'TRANSFERRED') THEN 'COMPLETE'
                ELSE 'TRANSFERRED' END AS state,
           (SELECT count(*) FROM files f WHERE f.run = b.run AND f.stream_type = b.stream_type
            AND f.stream_name = b.stream_name AND f.lumi_block = b.lumi_block) AS files,
           (SELECT CAST(coalesce(sum(f.events), 0) AS INTEGER) FROM files f WHERE f.run = b.run
            AND f.stream_type = b.stream_type AND f.stream_name = b.stream_name AND f.lumi_block = b.lumi_block) AS events,
           (SELECT CAST(coalesce(sum(f.bytes), 0) AS INTEGER) FROM files f WHERE f.run = b.run
            AND f.stream_type = b.stream_type AND f.stream_name = b.stream_name AND f.lumi_block = b.lumi_block) AS bytes,
           max(b.closed_us) AS closed_us
    FROM lumi_blocks b GROUP BY b.run, b.stream_type, b.stream_name, b.lumi_block;
CREATE VIEW reader_recorder_runs AS
    SELECT r.run, r.recorder,
           CASE WHEN r.state = 'OPENED' THEN 'OPENED'
                WHEN EXISTS (SELECT 1 FROM files f WHERE f.run = r.run AND f.recorder = r.recorder
                             AND f.transfer_state <> 'TRANSFERRED') THEN 'CLOSED'
                ELSE 'TRANSFERRED' END AS state,
           r.mode, r.relaxations, r.started_us, r.ended_us, r.reader_state
    FROM runs r;
CREATE VIEW reader_runs AS
    SELECT r.run,
           CASE WHEN sum(CASE WHEN r.state = 'OPENED' THEN 1 ELSE 0 END) > 0 THEN 'OPENED'
                WHEN EXISTS (SELECT 1 FROM files f WHERE f.run = r.run AND f.transfer_state <> 'TRANSFERRED') THEN 'COMPLETE'
                ELSE 'TRANSFERRED' END AS state,
           count(*) AS recorders,
           (SELECT count(*) FROM files f WHERE f.run = r.run) AS files,
           (SELECT CAST(coalesce(sum(f.events), 0) AS INTEGER) FROM files f WHERE f.run = r.run) AS events,
           (SELECT CAST(coalesce(sum(f.bytes), 0) AS INTEGER) FROM files f WHERE f.run = r.run) AS bytes,
           min(r.started_us) AS started_us,
           CASE WHEN count(*) = count(r.ended_us) THEN max(r.ended_us) END AS ended_us
    FROM runs r GROUP BY r.run;
CREATE VIEW reader_overlaps AS
    SELECT p.run, p.first_stream, p.second_stream,
           (SELECT CAST(coalesce(sum(f.events), 0) AS INTEGER) FROM files f WHERE f.run = p.run
            AND f.stream_type || '_' || f.stream_name = p.first_stream) AS events_first,
           (SELECT CAST(coalesce(sum(f.events), 0) AS INTEGER) FROM files f WHERE f.run = p.run
            AND f.stream_type || '_' || f.stream_name = p.second_stream) AS events_second,
           CAST(sum(p.events) AS INTEGER) AS events_both
    FROM (SELECT f.run,
                 CASE WHEN s.stream < f.stream_type || '_' || f.stream_name THEN s.stream
                      ELSE f.stream_type || '_' || f.stream_name END AS first_stream,
                 CASE WHEN s.stream < f.stream_type || '_' || f.stream_name THEN f.stream_type || '_' || f.stream_name
                      ELSE s.stream END AS second_stream,
                 s.events
          FROM file_shares s JOIN files f ON f.guid = s.guid) p
    GROUP BY p.run, p.first_stream, p.second_stream;
CREATE VIEW reader_rejections AS
    SELECT run, recorder, stream_type, stream_name, reason, copies FROM ledger_rejections;
PRAGMA application_id = 2003134834;
PRAGMA user_version = 3;
)sql";
}

}  // namespace weir::catalogue
