// Package model searches the core protocol: every interleaving of receivers, two workers, reconcilers, the queue,
// the clean-up and the people over single store, queue and model calls, with bounded crashes, lost answers,
// duplicates and stalls.
//
// A [Scenario] fixes events, deliveries and what may go wrong; [Case.Run] sees every state of it. In each state the
// promises hold that can be told from one (check.go), each step changes states as the tables of shared/operation and
// shared/inbox allow (moves.go), and from each state a way without a fault leads to rest, where the answer is right
// (rest.go). A [Weakening] is the protocol with one rule taken away: it must break, or the check could not fail.
//
// What a search proves, it proves for the protocol as it is written here and within the scenario's budget. The README
// says what was searched, how long it takes, and what is left out.
package model
