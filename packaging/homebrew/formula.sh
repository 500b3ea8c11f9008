#!/bin/sh
# Prints the Homebrew formula of a release, from its checksums:
#   packaging/homebrew/formula.sh VERSION URL-PREFIX < dist/checksums.txt
set -eu
version=$1 base=$2
sums=$(cat)
sum() {
	echo "$sums" | awk -v f="bawn_${version}_$1.tar.gz" '$2 == f {print $1; found = 1} END {exit !found}' || {
		echo "formula: there is no archive for $1" >&2
		return 1
	}
}
block() { # OS_ARCH
	digest=$(sum "$1")
	printf '      url "%s/bawn_%s_%s.tar.gz"\n      sha256 "%s"\n' "$base" "$version" "$1" "$digest"
}
mac_arm=$(block darwin_arm64)
mac_intel=$(block darwin_amd64)
linux_arm=$(block linux_arm64)
linux_intel=$(block linux_amd64)
cat <<RUBY
class Bawn < Formula
  desc "Sandbox for the shell commands of AI coding agents"
  homepage "$base"
  version "$version"

  on_macos do
    on_arm do
$mac_arm
    end
    on_intel do
$mac_intel
    end
  end

  on_linux do
    on_arm do
$linux_arm
    end
    on_intel do
$linux_intel
    end
  end

  def install
    bin.install "bawn"
    man1.install "man/bawn.1"
    man5.install "man/bawn-config.5"
    bash_completion.install "completions/bawn.bash" => "bawn"
    zsh_completion.install "completions/bawn.zsh" => "_bawn"
    fish_completion.install "completions/bawn.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/bawn version")
  end
end
RUBY
