{
  description = "A sandbox for the shell commands of AI coding agents";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: rec {
        default = bawn;
        bawn = pkgs.buildGoModule {
          pname = "bawn";
          version = self.shortRev or "dev";
          src = self;
          subPackages = [ "cmd/bawn" ];
          # The hash of `go mod vendor`; a test keeps it right.
          vendorHash = "sha256-Ary5za5p1lm/14+g8vthspDPwdOjHu3BHu9TJudlbKk=";
          env.CGO_ENABLED = 0;
          ldflags = [ "-s" "-w" "-X main.version=${self.shortRev or "dev"}" ];
          # They need a kernel that a build sandbox does not have.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/bawn completion man > bawn.1
            $out/bin/bawn completion man-config > bawn-config.5
            installManPage bawn.1 bawn-config.5
            installShellCompletion --cmd bawn \
              --bash <($out/bin/bawn completion bash) \
              --zsh <($out/bin/bawn completion zsh) \
              --fish <($out/bin/bawn completion fish)
          '';
          meta.mainProgram = "bawn";
        };
      });
    };
}
