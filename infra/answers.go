package infra

import _ "embed" // the file below

// AnswersSchema is the published JSON Schema (draft 2020-12) of what the operator program writes with
// --json, and of its problem documents.
//
//go:embed answers.schema.json
var AnswersSchema []byte
