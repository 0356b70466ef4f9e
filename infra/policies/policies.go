// Package policies holds two sample policies for people who operate a deployed engang: one for looking, one for acting.
// They are attached to the people's own roles, after the words in capital letters are replaced (README.md beside them
// says by what). Whoever may act may act on all that is in the stack: tenants
// are kept apart by stacks, and not by rights.
//
// Reading secrets is an act: with the store's own key, whoever may get a parameter may decrypt it. Where KmsKeyArn names
// a key, who keeps secrets needs kms:Encrypt and kms:Decrypt on it too.
package policies

import _ "embed" // the files below

// Read lets look at everything but content and secrets, and plan a configuration, which changes nothing.
//
//go:embed read.json
var Read []byte

// Act lets do all that the operator program can, secrets included.
//
//go:embed act.json
var Act []byte
