// Package infra holds the files that an operator starts from: the JSON Schema of configuration files,
// and the configuration of the local system.
package infra

import _ "embed" // the files below

// ConfigSchema is the published JSON Schema (draft 2020-12) of configuration files.
//
//go:embed config.schema.json
var ConfigSchema []byte

// LocalConfig is the configuration that the local system starts with when it is given none.
//
//go:embed local.yaml
var LocalConfig []byte
