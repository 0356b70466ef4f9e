// Package dynamotest is test help for whatever stands on the table: engines to run on, faults that lose
// a request or its answer, and callers that come at once.
//
// It starts an embedded engine in the test's process; nothing but tests may import it.
package dynamotest
