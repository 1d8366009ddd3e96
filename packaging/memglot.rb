# A template for a Homebrew tap. For each release, replace the version and the checksum of the source archive,
# then run `brew update-python-resources memglot`, which writes the `resource` blocks.
class Memglot < Formula
  include Language::Python::Virtualenv

  desc "One memory for every agent: store, convert, merge and search memories"
  homepage "https://github.com/memglot/memglot"
  url "https://github.com/memglot/memglot/archive/refs/tags/v@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "rust" => :build
  depends_on "libyaml"
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"memglot", "completion")
  end

  service do
    run [opt_bin/"memglot", "mcp", "--transport", "http"]
    keep_alive true
  end

  test do
    system bin/"memglot", "--store", testpath/"store.db", "add", "Tea at four"
    assert_match "Tea at four", shell_output("#{bin}/memglot --store #{testpath}/store.db search tea")
  end
end
