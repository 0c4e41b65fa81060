-- SPDX-License-Identifier: Apache-2.0
-- On top of schema.sql, which each server of the cluster `synctrace` has in its database synctrace_local. Where questions are asked and
-- rows are pushed, also on each server:
--   clickhouse-client --database synctrace --multiquery < distributed.sql
-- All rows of a recording are on one server, by its number.
create table if not exists runs as synctrace_local.runs engine = Distributed(synctrace, synctrace_local, runs, run);
create table if not exists ranks as synctrace_local.ranks engine = Distributed(synctrace, synctrace_local, ranks, run);
create table if not exists sites as synctrace_local.sites engine = Distributed(synctrace, synctrace_local, sites, run);
create table if not exists site_window as synctrace_local.site_window engine = Distributed(synctrace, synctrace_local, site_window, run);
create table if not exists steps as synctrace_local.steps engine = Distributed(synctrace, synctrace_local, steps, run);
create table if not exists collectives as synctrace_local.collectives engine = Distributed(synctrace, synctrace_local, collectives, run);
create table if not exists site_hours as synctrace_local.site_hours engine = Distributed(synctrace, synctrace_local, site_hours);
