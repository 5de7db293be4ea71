// The objects of the API, as the console reads them. Ids are decimal strings, times are seconds.

/**
 * @typedef {'ready'|'reserved'|'delayed'|'buried'} JobState
 *
 * @typedef {{produce: boolean, consume: boolean, inspect: boolean, manage: boolean}} TubeMay
 *
 * @typedef {object} Job
 * @property {string} id
 * @property {string} tube
 * @property {JobState} state
 * @property {number} priority
 * @property {number} age_seconds
 * @property {number} delay_seconds
 * @property {number} ttr_seconds
 * @property {number} left_seconds Until the ttr or the delay ends.
 * @property {number} body_bytes
 * @property {number} reserves
 * @property {number} timeouts
 * @property {number} releases
 * @property {number} buries
 * @property {number} kicks
 * @property {number} attempts
 * @property {number} tries 0: no limit.
 * @property {string} dead The tube for jobs whose tries are used up.
 * @property {string} from The tube where it died.
 * @property {string} key
 * @property {number} expire_left_seconds 0: never.
 * @property {boolean} parked
 * @property {number} notes How many it had; the last three are kept.
 * @property {string|null} restored The job that had ended and is this one now.
 * @property {TubeMay} may
 * @property {NewestNote|null} [note] In lists that ask for it.
 * @property {{id: string, address: string, user: string|null}} [held_by] For those who may see connections.
 * @property {{lease: string, address: string, user: string|null}} [leased_by] It is held over HTTP. For those who manage its tube.
 *
 * @typedef {object} Lease What holds a job that is reserved over HTTP.
 * @property {string} id
 * @property {string} job
 * @property {string} tube
 * @property {string|null} user
 * @property {string} address
 * @property {number} age_seconds Since the job was reserved.
 * @property {string} ends_at
 * @property {number} left_seconds
 *
 * @typedef {object} EndedJob
 * @property {string} id
 * @property {string} tube
 * @property {'ended'} state
 * @property {'deleted'|'flushed'|'expired'} ended
 * @property {number} ended_age_seconds
 * @property {string|null} ended_by
 * @property {number} priority
 * @property {number} age_seconds
 * @property {number} delay_seconds
 * @property {number} ttr_seconds
 * @property {number} body_bytes
 * @property {number} reserves
 * @property {number} attempts
 * @property {number} notes
 * @property {number} [timeouts] This and the following are not in lists.
 * @property {number} [releases]
 * @property {number} [buries]
 * @property {number} [kicks]
 * @property {number} [tries]
 * @property {string} [from]
 * @property {string} [key]
 * @property {TubeMay} may
 *
 * @typedef {{id: string, ended_at: string, ended_age_seconds: number}} EndedAt
 *
 * @typedef {object} EndedGroup Jobs that ended together.
 * @property {string} tube
 * @property {EndedJob['ended']} ended
 * @property {string|null} ended_by
 * @property {number} jobs
 * @property {boolean} whole False: more of them may be on the next page.
 * @property {EndedAt} newest
 * @property {EndedAt} oldest
 * @property {string} after For the list of the tube, so that it begins with the newest.
 * @property {TubeMay} may
 *
 * @typedef {object} EndedPage
 * @property {number} tubes How many that keep such jobs were looked at.
 * @property {boolean} all_tubes
 * @property {number} looked_at Jobs.
 * @property {string|null} next
 * @property {EndedGroup[]} groups
 *
 * @typedef {object} LifeRow What happened to a job.
 * @property {'put'|'reserved'|'note'|'dead'|'restored'|'ended'|'now'} what
 * @property {string|null} time RFC 3339. Null: not known.
 * @property {string|null} by
 * @property {number} attempt Of a note: how often the job was reserved by then.
 * @property {string} detail The text of a note, the tube where it died, the job that it was, how it ended, or its state.
 *
 * @typedef {object} Tube
 * @property {string} name
 * @property {number} ready
 * @property {number} urgent
 * @property {number} reserved
 * @property {number} delayed
 * @property {number} buried
 * @property {number} puts
 * @property {number} put_bytes
 * @property {number} reserves
 * @property {number} releases
 * @property {number} buries
 * @property {number} kicks
 * @property {number} timeouts
 * @property {number} deletes
 * @property {number} using
 * @property {number} watching
 * @property {number} waiting
 * @property {number} pause_left_seconds
 * @property {number} oldest_ready_seconds
 * @property {number} parked
 * @property {number} duplicates
 * @property {number} dead
 * @property {number} expired
 * @property {boolean} holds_dead
 * @property {TubeMay} [may]
 * @property {number} [gone_seconds] It is gone, and was last seen so long ago.
 * @property {{tries: number, backoff: string, dead: string, expire_seconds: number, reserved: number, rate: string, drain: boolean, keep_seconds: number, keep_max: number}} [settings]
 *
 * @typedef {object} NewestNote Two lines of it.
 * @property {number} number
 * @property {string} time RFC 3339.
 * @property {number} attempt
 * @property {string} user
 * @property {string} line
 * @property {string} last_line
 *
 * @typedef {object} FailedGroup Jobs that have failed in the same way.
 * @property {string} tube
 * @property {'buried'|'dead'} how
 * @property {string} line
 * @property {number} jobs
 * @property {string|null} newest_at
 * @property {string|null} oldest_at
 * @property {string} newest
 * @property {NewestNote|null} note
 * @property {TubeMay} may
 *
 * @typedef {object} May
 * @property {boolean} monitor
 * @property {boolean} admin
 * @property {boolean} inspect Whether any tube may be inspected.
 *
 * @typedef {object} Server
 * @property {string} version
 * @property {string} instance
 * @property {string} hostname
 * @property {number} uptime_seconds
 * @property {{ready: number, urgent: number, reserved: number, delayed: number, buried: number}} jobs
 * @property {number} parked Ready jobs whose concurrency key is full.
 * @property {number} oldest_ready_seconds
 * @property {Record<string, number>} totals Since the start.
 * @property {{all: number, producers: number, workers: number, waiting: number}} connections
 * @property {number} tubes
 * @property {{all: number, refused: number}} schedules
 * @property {boolean} draining
 * @property {{state: string, damaged_blocks: number, jobs_without_body: number, accepts_puts: boolean, durability: string, sync_p99_seconds: number, transitions: number, checkpoint_age_seconds: number}} store
 * @property {{connections_max: number|null, jobs_max: number|null, tubes_max: number|null, keys_max: number|null, memory_bytes_max: number|null, disk_low_water_bytes: number|null, disk_free_bytes: number}} limits
 * @property {{node: string, leads: boolean, lag: number, append_failure: string|null}|null} cluster
 * @property {number} loop_lag_seconds
 * @property {number} memory_bytes
 * @property {number} cpu_seconds
 * @property {number} job_bytes_max
 * @property {May} may
 * @property {string|null} user
 *
 * @typedef {object} Details
 * @property {string} rocksdb_version
 * @property {string} openssl_version
 * @property {number} resident_bytes
 * @property {number|null} descriptors_open
 * @property {number} descriptors_max
 * @property {number} disk_free_bytes
 * @property {{log_files: number, log_bytes_max: number, batches: number, batch_bytes: number, batch_jobs_mean: number}} store
 * @property {ClusterDetails|null} cluster
 * @property {{listener: string, left_seconds: number}[]} certificates
 * @property {boolean} files_in_use Of users and of TLS, when they were read last.
 *
 * @typedef {{name: string, node: string, leads: boolean, epoch: number, newest: number, applied: number, flushed: number, append_mean_seconds: number,
 *   append_failure: string|null, standbys: number, standby_lag: number, clock_ahead_seconds: number, etcd_alarms_no_space: number, etcd_alarms_corrupt: number,
 *   settings_differ: number}} ClusterDetails
 *
 * @typedef {object} AuditLine
 * @property {number} age_seconds
 * @property {string|null} user
 * @property {string} action
 * @property {string} subject
 * @property {boolean} refused
 * @property {'queue'|'http'} via
 * @property {string} connection
 * @property {string} from
 * @property {number} left_out
 *
 * @typedef {{counts: number[], sum_seconds: number}} Times
 *
 * @typedef {object} WorkTimes
 * @property {number[]} bounds_seconds
 * @property {Times} wait
 * @property {Record<string, Times>} run By what ended the reservation.
 *
 * @typedef {object} History
 * @property {number} span_seconds How far it goes back.
 * @property {number[]} spans_seconds The spans that this series has.
 * @property {number} step_seconds
 * @property {number} ends_seconds_ago
 * @property {Record<string, (number|null)[]>} series Null: the server did not run.
 *
 * @typedef {object} Connection
 * @property {string} id
 * @property {string} address
 * @property {string|null} user
 * @property {string} used
 * @property {string[]} watched
 * @property {number} watched_count
 * @property {number} held
 * @property {boolean} waiting
 * @property {number} output_bytes
 *
 * @typedef {object} Schedule Times are RFC 3339, in UTC.
 * @property {string} name
 * @property {string} tube
 * @property {number|null} every_seconds
 * @property {string|null} anchor
 * @property {string|null} cron
 * @property {string|null} zone
 * @property {string|null} at
 * @property {'active'|'paused'|'over'|'no-zone'} state
 * @property {boolean} paused
 * @property {boolean} refused
 * @property {'draining'|'space'|'jobs_max'|'keys_max'|'tubes_max'|null} refused_because
 * @property {string|null} planned
 * @property {string|null} next With the jitter.
 * @property {string|null} last_planned
 * @property {string|null} last_fired
 * @property {string|null} last_job
 * @property {JobState|null} last_job_state
 * @property {number} fired
 * @property {number} skipped
 * @property {number} missed_times
 * @property {number} [priority] This and the following are not in lists.
 * @property {number} [delay_seconds]
 * @property {number} [ttr_seconds]
 * @property {number|null} [tries]
 * @property {string|null} [backoff]
 * @property {string|null} [dead]
 * @property {number|null} [expire_seconds]
 * @property {string|null} [key]
 * @property {string|null} [concurrency]
 * @property {string} [missed]
 * @property {string} [overlap]
 * @property {number} [jitter_seconds]
 * @property {number} [bytes]
 * @property {string} [body] Where it is text.
 * @property {TubeMay} may
 *
 * @typedef {object} Operation
 * @property {string} id
 * @property {'delete'|'kick'|'move'|'restore'} action
 * @property {string} tube
 * @property {JobState[]} states
 * @property {Record<string, number>|null} match
 * @property {string|null} to
 * @property {string|null} user
 * @property {number|null} since_seconds Of a restore: only what ended in this time. Null: whenever it ended.
 * @property {EndedJob['ended'][]|null} how Of a restore: only what ended so.
 * @property {number|null} confirmed Null: it is a restore, of jobs that nobody can count before.
 * @property {number} done
 * @property {'running'|'done'|'cancelled'|'failed'} state
 * @property {string} message
 * @property {number} age_seconds
 *
 * @typedef {object} Session
 * @property {boolean} users
 * @property {string|null} user
 * @property {May} may
 * @property {boolean} serves Whether there are jobs to show.
 *
 * @typedef {object} Node
 * @property {'serving'|'loading'|'standby'} state
 * @property {{name: string, node: string, leader: {node: string, client_address: string, url: string|null}|null, forwards: boolean,
 *   log: {epoch: number, read: number, applied: number, flushed: number, forwarded_connections: number}|null}|null} cluster
 */

export {};
