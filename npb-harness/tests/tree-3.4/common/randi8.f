c     x is a*x modulo 2**46; the value is that divided by 2**46.
      double precision function randlc(x, a)
      implicit none
      double precision x, a
      integer*8 product, mask
c     NPB 3.4.0 writes it so.
      data mask/X'00003FFFFFFFFFFF'/

      product = iand(int(a, 8) * int(x, 8), mask)
      x = dble(product)
      randlc = x / 70368744177664.d0
      return
      end
