package modelstub

import "engang/shared/recipe"

// Answer is the output for a prompt, without a server between.
func Answer(p recipe.Prompt) []byte {
	return []byte(write(&request{Input: string(p.Input), Schema: p.Schema}, style{}))
}
