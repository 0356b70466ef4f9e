package config

import "engang/shared/object"

// The kinds of what is stored by version.
const (
	KindEndpoint = "endpoint"
	KindRecipe   = "recipe"
	KindCommon   = "common"
)

// CommonName is the name under which the [Common] part of a scope is stored.
const CommonName = "common"

// A Version is one immutable version of an endpoint, a recipe or the common part, as it is stored.
type Version struct {
	Scope   object.Scope
	Kind    string
	Name    string
	Version int
	JSON    []byte
	Digest  string // hex SHA-256 of JSON: two versions with one digest are the same
}
