-- SPDX-License-Identifier: Apache-2.0
-- The tables of a dataset, and an hourly sum of the largest: for a single server, or for each server of a cluster, where distributed.sql
-- comes on top. Made in the database that the client is told:
--   clickhouse-client --database synctrace --multiquery < schema.sql
-- `content` and `piece` say which rows came together; `synctrace push` asks for them before it sends any. A partition is a week.

create table if not exists runs (
  job String, date Date, rank Int64, content UInt64, piece UInt64, run UInt64, schema_version Int64, program String, commit String,
  host String, process_id Int64, level String, simulated Int64, has_timeline Int64, begin_ns Int64, recorded_ns Int64, window_ns Int64,
  verdict String, step_source String, steps Int64, warm_up_steps Int64, irregular_steps Int64, step_mean_ns Int64, step_p50_ns Int64,
  step_p99_ns Int64, calls Int64, waited Int64, host_blocked_ns Int64, launches Int64, base_ns Int64, saving_ns Int64, saving_lo_ns Int64,
  saving_hi_ns Int64, job_ranks Int64, others_waited_ns Int64, late_margin_ns Int64, late_count Int64, lossy_ns Int64, losses Int64
) engine = MergeTree partition by toMonday(date) order by (run);

create table if not exists ranks (
  job String, date Date, rank Int64, content UInt64, piece UInt64, run UInt64, device Int64, device_name String, host String,
  window_ns Int64, compute_ns Int64, collective_ns Int64, waiting_ns Int64, transfer_ns Int64, copy_only_ns Int64, idle_ns Int64
) engine = MergeTree partition by toMonday(date) order by (run, device);

create table if not exists sites (
  job String, date Date, rank Int64, content UInt64, piece UInt64, run UInt64, site UInt64, rule String, name String, cause String,
  file String, line Int64, function String, source String, calls Int64, waited Int64, bytes Int64, host_blocked_ns Int64, idle_ns Int64,
  idle_in_steps_ns Int64, uncertain_ns Int64, copying_ns Int64, saving_ns Int64, saving_lo_ns Int64, saving_hi_ns Int64,
  others_waited_ns Int64
) engine = MergeTree partition by toMonday(date) order by (run, site);

create table if not exists site_window (
  job String, date Date, rank Int64, content UInt64, piece UInt64, run UInt64, begin_ns Int64, device Int64, site UInt64, calls Int64,
  waited Int64, bytes Int64, host_blocked_ns Int64, idle_ns Int64, uncertain_ns Int64, copying_ns Int64
) engine = MergeTree partition by toMonday(date) order by (run, site, begin_ns, device);

create table if not exists steps (
  job String, date Date, rank Int64, content UInt64, piece UInt64, run UInt64, step Int64, begin_ns Int64, length_ns Int64, kind String
) engine = MergeTree partition by toMonday(date) order by (run, step);

create table if not exists collectives (
  job String, date Date, rank Int64, content UInt64, piece UInt64, run UInt64, begin_ns Int64, communicator UInt64, operation String,
  bytes Int64, late_rank Int64, count Int64, time_ns Int64, waiting_ns Int64, transfer_ns Int64, unsplit_ns Int64
) engine = MergeTree partition by toMonday(date) order by (run, begin_ns);

create table if not exists site_hours (
  job String, date Date, hour DateTime, site UInt64, calls Int64, waited Int64, bytes Int64, host_blocked_ns Int64, idle_ns Int64,
  uncertain_ns Int64, copying_ns Int64
) engine = SummingMergeTree partition by toMonday(date) order by (job, date, hour, site);

create materialized view if not exists site_hours_of_windows to site_hours as
select job, date, toDateTime(intDiv(begin_ns, 3600000000000) * 3600) as hour, site, sum(calls) as calls, sum(waited) as waited,
       sum(bytes) as bytes, sum(host_blocked_ns) as host_blocked_ns, sum(idle_ns) as idle_ns, sum(uncertain_ns) as uncertain_ns,
       sum(copying_ns) as copying_ns
from site_window
group by job, date, hour, site;
