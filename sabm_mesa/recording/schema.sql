-- A recording: runs, every attempt at every ask, and the collected data.
CREATE TABLE runs (
    run           INTEGER PRIMARY KEY,  -- 0, 1, 2, … within this file
    uid           TEXT NOT NULL UNIQUE, -- the same run in any file
    command       TEXT NOT NULL,        -- the same for the runs that were started together
    scenario      TEXT NOT NULL,
    model         TEXT NOT NULL,        -- module:class
    file          TEXT NOT NULL,        -- the file of a scenario that is not installed, or ''
    parameters    TEXT NOT NULL,        -- JSON: those the run began with
    forks         TEXT NOT NULL,        -- JSON: [{"at": round, "set": {parameter: value}}, ...]
    tags          TEXT NOT NULL,        -- JSON: name -> text; "spec" is the digest of what was planned
    parent        TEXT,                 -- uid of the run it was forked from
    seed          TEXT NOT NULL,        -- JSON
    minds         TEXT NOT NULL,        -- JSON: spec -> number of agents, when the run began
    prompts       TEXT NOT NULL,        -- JSON: entry -> hash
    versions      TEXT NOT NULL,        -- JSON: package -> version
    connection    TEXT NOT NULL,        -- JSON: how language models are reached; never a key
    model_columns TEXT NOT NULL,        -- JSON
    agent_columns TEXT NOT NULL,        -- JSON
    started       TEXT NOT NULL,        -- ISO 8601, UTC
    ended         TEXT,
    session       TEXT NOT NULL,        -- the writer, which holds FILE.session.lock while it lives
    status        TEXT NOT NULL         -- running, finished, failed
        CHECK (status IN ('running', 'finished', 'failed')),
    problem       TEXT,                 -- why it failed
    end_reason    TEXT,                 -- why a finished run ended, if its scenario says so
    measures      TEXT                  -- JSON: the end measures of a finished run
);
CREATE INDEX runs_by_spec ON runs (json_extract(tags, '$.spec'));

-- The templates of the prompt entries, by their hash.
CREATE TABLE prompts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;

-- The different messages that were sent and provenances of answers, by their hash.
CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE asks (
    run               INTEGER NOT NULL REFERENCES runs (run),
    round             INTEGER NOT NULL,
    phase             TEXT    NOT NULL,
    agent             INTEGER NOT NULL,
    call              INTEGER NOT NULL, -- which ask of the agent in this phase
    attempt           INTEGER NOT NULL,
    name              TEXT    NOT NULL, -- the prompt entry
    mind              TEXT    NOT NULL,
    messages          TEXT,             -- JSON: [[role, hash], ...]; NULL: not sent
    request           TEXT,             -- SHA-256 of the exact request
    raw               TEXT,             -- the answer as it came, without thoughts
    thoughts          TEXT    NOT NULL, -- private thoughts that came with it
    form              TEXT    NOT NULL, -- paper, labelled or json: a text, so read; value: JSON of a value
    value             TEXT,             -- JSON: what was read; NULL when invalid
    read_as           TEXT,             -- the step that read it: exact, marked …; NULL when invalid
    reasoning         TEXT,
    valid             INTEGER NOT NULL,
    reason            TEXT    NOT NULL, -- why it is invalid
    prompt_tokens     INTEGER NOT NULL,
    cached_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    thought_tokens    INTEGER NOT NULL, -- those of them that the server says were thoughts
    cost_usd          REAL,             -- NULL when the price is not known
    latency_s         REAL    NOT NULL,
    served_model      TEXT    NOT NULL,
    finish_reason     TEXT    NOT NULL,
    retries           INTEGER NOT NULL,
    response_id       TEXT,             -- that the server gave the response; NULL: none
    provenance        TEXT,             -- hash of JSON: model, provider, system_fingerprint; parameters as
                                        -- sent, and as asked where they differ; NULL: nothing was sent
    copied            INTEGER NOT NULL, -- 1: answered, and paid for, in the parent of a fork
    position          INTEGER NOT NULL, -- the turn of the phase, from 0, as if all were one by one
    final             INTEGER NOT NULL, -- 1: this attempt decided; 0: the question was asked again
    PRIMARY KEY (run, round, phase, agent, call, attempt)
) WITHOUT ROWID;

-- Requests that were sent and whose answers are not recorded: each is noted before it leaves, and the
-- note is removed when the answer is recorded, or none is billed. A note survives the death of the
-- process; that of the machine may take the last ones along.
CREATE TABLE sent (
    session           TEXT    NOT NULL, -- the writer that sent it
    number            INTEGER NOT NULL, -- of its notes
    run               INTEGER NOT NULL REFERENCES runs (run),
    model             TEXT    NOT NULL, -- the name of the language model
    prompt_tokens     INTEGER NOT NULL, -- at most
    completion_tokens INTEGER NOT NULL, -- at most
    cost_usd          REAL,             -- at most; NULL when the price is not known
    PRIMARY KEY (session, number)
) WITHOUT ROWID;

CREATE TABLE model_data (
    run INTEGER NOT NULL REFERENCES runs (run), round INTEGER NOT NULL,
    data TEXT NOT NULL, -- JSON: values in the order of runs.model_columns
    PRIMARY KEY (run, round)
) WITHOUT ROWID;

CREATE TABLE agent_data (
    run INTEGER NOT NULL REFERENCES runs (run), round INTEGER NOT NULL,
    data TEXT NOT NULL, -- JSON: a list of values for each agent, in the order of runs.agent_columns
    PRIMARY KEY (run, round)
) WITHOUT ROWID;

-- What agents said to one another: speaker, its name, phase, position, the ids of the hearers (null:
-- all) and the words of each message, in the order of the turns.
CREATE TABLE message_data (
    run INTEGER NOT NULL REFERENCES runs (run), round INTEGER NOT NULL,
    data TEXT NOT NULL, -- JSON: a list of these values for each message
    PRIMARY KEY (run, round)
) WITHOUT ROWID;
