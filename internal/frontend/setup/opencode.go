package setup

import "encoding/json"

// opencodePlugin asks the hook about every tool and throws on anything but an
// answer: opencode then does not run the tool.
func opencodePlugin(p Place) []byte {
	hook, err := json.Marshal(p.Hook("opencode"))
	if err != nil {
		panic(err) // strings can always be written
	}
	return []byte(`// Made by bawn setup opencode; bawn setup opencode --uninstall takes it away.
import { spawnSync } from "node:child_process"

const [program, ...args] = ` + string(hook) + `

export const Bawn = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const event = JSON.stringify({ tool: input.tool, args: output.args ?? {}, directory })
    const r = spawnSync(program, args, { input: event, encoding: "utf8", timeout: 10000, maxBuffer: 64 << 20 })
    if (r.error || r.status !== 0) throw new Error(r.stderr || String(r.error ?? "bawn: the hook failed"))
    const answer = r.stdout ? JSON.parse(r.stdout) : {}
    if (answer.deny) throw new Error(answer.deny)
    if (answer.args) Object.assign(output.args, answer.args)
  },
})
`)
}
