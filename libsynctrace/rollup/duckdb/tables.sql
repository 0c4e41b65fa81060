-- SPDX-License-Identifier: Apache-2.0
-- The tables of a dataset by their names, for the questions beside this file:
--   duckdb -cmd "set variable dataset = 'DATASET'" -cmd ".read tables.sql" < lines.sql
-- The questions are about the last seven days; `set variable since = '2026-11-01'` asks for more.
create or replace view runs as
  from read_parquet(getvariable('dataset') || '/runs/**/*.parquet', hive_partitioning = true,
                    hive_types = {'job': varchar, 'date': date, 'rank': bigint});
create or replace view ranks as
  from read_parquet(getvariable('dataset') || '/ranks/**/*.parquet', hive_partitioning = true,
                    hive_types = {'job': varchar, 'date': date, 'rank': bigint});
create or replace view sites as
  from read_parquet(getvariable('dataset') || '/sites/**/*.parquet', hive_partitioning = true,
                    hive_types = {'job': varchar, 'date': date, 'rank': bigint});
create or replace view site_window as
  from read_parquet(getvariable('dataset') || '/site_window/**/*.parquet', hive_partitioning = true,
                    hive_types = {'job': varchar, 'date': date, 'rank': bigint});
create or replace view steps as
  from read_parquet(getvariable('dataset') || '/steps/**/*.parquet', hive_partitioning = true,
                    hive_types = {'job': varchar, 'date': date, 'rank': bigint});
create or replace view collectives as
  from read_parquet(getvariable('dataset') || '/collectives/**/*.parquet', hive_partitioning = true,
                    hive_types = {'job': varchar, 'date': date, 'rank': bigint});
