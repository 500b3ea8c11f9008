package shell

import (
	"strings"

	"bawn/internal/shell/plain"
)

// fetcher is a program that surely opens the addresses it is given.
type fetcher struct {
	names string // separated by spaces
	verbs string // one of them must come first; "" = there are no verbs
	// values: letters of short options whose value is the next word. A long
	// option whose value is that is not in flags: only those in flags surely
	// have none.
	values string
	flags  string
	urls   string // options whose value is an address that is opened
	// detours: options with which the address is reached in another way, or not
	// at all.
	detours string
}

var fetchers = [...]fetcher{
	{
		names:   "curl",
		values:  "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
		flags:   "--silent --show-error --location --fail --fail-with-body --insecure --compressed --head --include --verbose --remote-name --remote-header-name --remote-name-all --get --ipv4 --ipv6 --http1.0 --http1.1 --http2 --http3 --tlsv1.2 --tlsv1.3 --no-progress-meter --progress-bar --create-dirs --no-buffer --raw --parallel --retry-all-errors --retry-connrefused --location-trusted --globoff --basic --digest",
		urls:    "--url",
		detours: "-x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname --noproxy --resolve --connect-to --unix-socket --abstract-unix-socket -K --config -h --help -V --version --proxy1.0 --interface --doh-url --dns-servers",
	},
	{
		names:   "wget wget2",
		values:  "oaeiBtOTwQPUlARDIX",
		flags:   "--quiet --no-verbose --verbose --continue --timestamping --no-check-certificate --recursive --mirror --no-parent --page-requisites --convert-links --spider --server-response --content-disposition --show-progress --no-clobber --inet4-only --inet6-only --no-cache --trust-server-names --https-only",
		detours: "-e --execute --no-proxy --config -h --help -V --version --bind-address",
	},
	{names: "aria2c", values: "dojsxki", detours: "--all-proxy --http-proxy --https-proxy -h --help --conf-path"},
	{names: "http https xh xhs httpie", values: "aApohdsvq", detours: "--offline --proxy --help --version"},
	{names: "lynx w3m links elinks", values: "", flags: "-dump -source -nolist", detours: ""},
	{
		names: "git", verbs: "clone fetch pull push ls-remote", values: "bcojut",
		flags:   "--quiet --verbose --progress --bare --mirror --single-branch --no-single-branch --no-tags --tags --recursive --recurse-submodules --shallow-submodules --no-checkout --heads --refs --exit-code --prune --all --force --no-recurse-submodules",
		detours: "-c --config --config-env -C --upload-pack -u --receive-pack --dry-run --help -h",
	},
	{names: "pip pip3", verbs: "install download wheel", values: "rcetifo", flags: "--upgrade --no-deps --no-cache-dir --quiet --pre --user --force-reinstall --no-build-isolation --disable-pip-version-check", urls: "--index-url -i --extra-index-url", detours: "--proxy --no-index --help -h --dry-run"},
	{names: "uv", verbs: "add", values: "p", detours: "--offline --help -h --frozen --script"},
	{names: "npm pnpm yarn bun", verbs: "install i add", values: "wCF", flags: "--save --save-dev --save-exact --no-save --save-optional --save-peer --force --no-audit --no-fund --ignore-scripts --global --silent", detours: "--proxy --https-proxy --offline --prefer-offline --help -h --dry-run"},
	{names: "cargo", verbs: "install", values: "", flags: "--locked --force --all-features --no-default-features", urls: "--git", detours: "--offline --config --help -h --path --list"},
	{names: "gem", verbs: "install", values: "vin", urls: "--source -s", detours: "--http-proxy -p --local -l --help -h"},
}

// fetched lists the words of a command that are addresses which it surely
// opens; text up to what is known.
func fetched(c Command) []Word {
	if len(c.Words) == 0 || !c.Words[0].Known || c.Opaque {
		return nil
	}
	for _, a := range c.Assigns {
		if strings.HasSuffix(strings.ToLower(a.Name), "proxy") || strings.HasPrefix(a.Name, "GIT_") {
			return nil
		}
	}
	name := base(c.Words[0].Text)
	args := c.Words[1:]
	if (name == "python" || name == "python3") && len(args) > 2 && args[0].Text == "-m" && args[1].Text == "pip" {
		name, args = "pip", args[2:]
	}
	for i := range fetchers {
		if f := &fetchers[i]; plain.Has(f.names, name) {
			return f.operands(args)
		}
	}
	return nil
}

func (f *fetcher) operands(args []Word) []Word {
	var out []Word
	verb := f.verbs == ""
	for i := 0; i < len(args); i++ {
		w := args[i]
		a := w.Text
		if !w.Known && (a == "" || a[0] == '-') {
			return nil // could be any option
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			if !verb {
				if !w.Known || !plain.Has(f.verbs, a) {
					return nil
				}
				verb = true
				continue
			}
			out = append(out, w)
			continue
		}
		name, value, glued := strings.Cut(a, "=")
		switch {
		case a == "--":
			if verb {
				out = append(out, args[i+1:]...)
			}
			return out
		case plain.Has(f.detours, name):
			return nil
		case plain.Has(f.urls, name):
			if glued {
				out = append(out, Word{Text: value, Known: true})
			} else if i++; i < len(args) {
				out = append(out, args[i])
			}
		case strings.HasPrefix(a, "--"):
			if !glued && !plain.Has(f.flags, name) {
				i++
			}
		case plain.Has(f.flags, a):
		default:
			next, detour := f.short(a)
			if detour {
				return nil
			}
			if next {
				i++
			}
		}
	}
	if !verb {
		return nil
	}
	return out
}

// short reads letters behind one dash: whether the last takes the next word,
// and whether one is a detour.
func (f *fetcher) short(a string) (next, detour bool) {
	for j := 1; j < len(a); j++ {
		if plain.Has(f.detours, "-"+a[j:j+1]) {
			return false, true
		}
		if strings.IndexByte(f.values, a[j]) >= 0 {
			return j+1 == len(a), false
		}
	}
	return false, false
}
