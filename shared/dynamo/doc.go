// Package dynamo is the one table: its keys, its items, and every write to it.
//
// One object is one item collection, an event is found by its id without an index, and the only debt is
// the open event, in one sparse index (infra/protocol.md sections 1 and 2):
//
//	pk                      sk                                  what
//	E#evt_…                 EVENT                               event; in `open` while received, in `list` always
//	                        CONFLICT#digest                     another fact under the event's key; in `open` (review)
//	                        SEEN                                count of the deliveries after the first
//	B#tenant#env#kind:id    O#recipe@000003#digest              operation: its lease, attempts and output; in `open` (review) while failed or a draft, unless dismissed or cancelled
//	                        O#recipe@000003#digest#LOST#att_…   recorded attempt of a worker that was fenced
//	                        R#recipe#000003                     result: the newest accepted output
//	                        H#recipe                            head: the newest event of a quiet period
//	C#hooks                 name                                who has the endpoint address /hooks/{name}
//	C#tenant#env            POINTER                             which versions are live
//	                        kind#name#000003                    one immutable version
//	K#tenant#env#prov#model BREAKER                             what pauses a model by itself
//	K#pause                 kind#tenant#env#name                what a person pauses
//	K#spend#tenant#env#rec. 2026-11-29                          what a recipe has spent and reserved on a day
//	                        M#2026-11-29T12:00                  its calls of a minute
//	K#catchup#tenant#env    endpoint                            how far its source was asked
//	K#last#tenant#env       endpoint                            when its sender was last heard
//	A#tenant#env#2026-11-29 time#id                             acts of persons
//
//	index   hash                          range            for
//	open    open#0 … open#7               due#evt_…        what the reconciler must look at: Due
//	        review                        time#…           what waits for a person: Reviews
//	list    tenant#env#2026-11-29#0 … 3   time#evt_…       the events of a day: Listed
//
// Both indexes hold keys only, their range keys are unique, and an item has both keys of an index or
// neither. Every condition and every update is written by hand on one line of expr.go, and names the
// transition of the lifecycle that it makes.
//
// # What a caller can rely on
//
// A write is one conditional request, or one transaction; no write reads first, but for the two that
// erase. When it returns nil its effect is durable. An error that is none of those a method names means
// that the outcome is unknown: the same call, with the same write id, may be made again and comes to one
// effect. The client repeats a request itself a few times; a repeat that meets its own first try, known
// by the write id, is success.
//
// A refused condition is answered from the stored item, which comes with the refusal or, where the
// engine does not send it, from one consistent read. Reads that decide something are consistent. Every
// item is measured before it is written ([ErrTooLarge]). A [Table] is safe for concurrent use.
package dynamo
