// SPDX-License-Identifier: Apache-2.0
// readers.mjs MODULES < REQUEST: reads Parquet files by readers of others. The request is JSON: files, and of a
// dataset the tables' definitions and the questions, by name.
// One line of JSON for each file and reader, with a digest of all columns' names and rows; and for each question, which
// DuckDB answers, one with its rows. A text counts as its length in bytes and itself, so that no two rows look alike.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const modules = createRequire(`${process.argv[2]}/package.json`)
const load = (name) => import(pathToFileURL(modules.resolve(name)))
const { files, dataset, tables, questions } = JSON.parse(readFileSync(0, 'utf8'))

const cell = (value) => (typeof value === 'string' ? `${Buffer.byteLength(value)}:${value}` : String(value))

function digest(names, rows) {
  const hash = createHash('sha256').update(names.map(cell).join(','))
  for (const row of rows) hash.update(`\n${row.map(cell).join(',')}`)
  return hash.digest('hex')
}

function say(reader, path, names, rows) {
  console.log(JSON.stringify({ reader, path, rows: rows.length, digest: digest(names, rows) }))
}

const { parquetMetadata, parquetReadObjects, parquetSchema } = await load('hyparquet')
const { compressors } = await load('hyparquet-compressors')
for (const path of files) {
  const bytes = readFileSync(path)
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
  const names = parquetSchema(parquetMetadata(file)).children.map((child) => child.element.name)
  const objects = await parquetReadObjects({ file, compressors })
  say('hyparquet', path, names, objects.map((row) => names.map((name) => row[name])))
}

const { DuckDBInstance } = await load('@duckdb/node-api')
const duckdb = await (await DuckDBInstance.create(':memory:')).connect()
for (const path of files) {
  const answer = await duckdb.runAndReadAll(`select * from read_parquet('${path}', hive_partitioning = false)`)
  say('DuckDB', path, answer.columnNames(), answer.getRows())
}
await duckdb.run(`set variable dataset = '${dataset}'; set variable since = '1970-01-01'`)
for (const statement of tables.split(';\n').filter((text) => text.trim())) await duckdb.run(statement)
for (const [question, query] of Object.entries(questions)) {
  const answer = await duckdb.runAndReadAll(query)
  console.log(JSON.stringify({ question, names: answer.columnNames(), rows: answer.getRows().map((row) => row.map(String)) }))
}
