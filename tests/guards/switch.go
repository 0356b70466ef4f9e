package main

// switchEnv names the guard that is out while a test runs.
const switchEnv = "ENGANG_GUARD_OUT"

// switches is what a package gets beside its files so that one of its guards can be out. It is never part of the
// tree: the compiler is told to find it there.
const switches = `package %s

import (
	"os"
	"reflect"
)

// guardOut is the guard that is out.
var guardOut = os.Getenv("` + switchEnv + `")

func guardOn(id string) bool { return guardOut == id }

func guardNever(id string, holds bool) bool { return holds && guardOut != id }

func guardAlways(id string, holds bool) bool { return holds || guardOut == id }

// guardText is the text, or the one that stands behind the guard that is out.
func guardText(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if guardOut == pairs[i] {
			return pairs[i+1]
		}
	}
	return text
}

// guardCase is the value of a case, or one that there is not.
func guardCase[T any](id string, of T) T {
	if guardOut != id {
		return of
	}
	switch v := reflect.ValueOf(&of).Elem(); v.Kind() {
	case reflect.String:
		v.SetString("no such")
	default:
		v.SetInt(-99)
	}
	return of
}

var _, _, _, _, _ = guardOn, guardNever, guardAlways, guardText, guardCase[int]
`
