package infra

import _ "embed" // the files below

// Prices is the price list that the cost sheet is computed with.
//
//go:embed cost/prices.json
var Prices []byte

// Counts is what tests have counted that each event calls.
//
//go:embed cost/counts.json
var Counts []byte
